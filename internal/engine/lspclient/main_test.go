package lspclient

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/sevengate/sevengate/internal/engine/lspclient/fakeserver"
)

func TestMain(m *testing.M) {
	if modes, ok := os.LookupEnv(fakeserver.Env); ok {
		fakeserver.Main(modes)
		return
	}
	goleak.VerifyTestMain(m)
}
