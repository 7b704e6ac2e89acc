package inner

import "testing"

func TestNothing(t *testing.T) {}
