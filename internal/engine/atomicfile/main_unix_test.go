//go:build unix

package atomicfile

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// The helper processes of the crash tests are this test binary, told by this variable.
const helperEnv = "ATOMICFILE_TEST_HELPER"

func TestMain(m *testing.M) {
	switch os.Getenv(helperEnv) {
	case "loop":
		helperLoop(os.Args[1])
	case "step":
		n, _ := strconv.Atoi(os.Args[3])
		helperStep(os.Args[1], os.Args[2], n)
	case "add":
		n, _ := strconv.Atoi(os.Args[2])
		helperAdd(os.Args[1], n)
	default:
		goleak.VerifyTestMain(m)
	}
	os.Exit(0)
}

func content(letter byte) []byte { return bytes.Repeat([]byte{letter}, 300_000+int(letter)) }

// helperLoop replaces the file for ever, until it is killed.
func helperLoop(path string) {
	for i := 0; ; i++ {
		if _, err := Replace(context.Background(), path, content('a'+byte(i%7)), Options{}); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
	}
}

// helperStep replaces the file by b's and kills itself the n-th time a step called name is reached.
func helperStep(path, name string, n int) {
	seen := 0
	opt := Options{fault: func(step string) error {
		if step == name {
			if seen++; seen == n {
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}
		return nil
	}}
	_, err := Replace(context.Background(), path, content('b'), opt)
	fmt.Println("not killed:", err)
	os.Exit(3)
}

// helperAdd adds 1 to the number in the file, n times.
func helperAdd(path string, n int) {
	for range n {
		_, err := Update(context.Background(), path, Options{}, func(old []byte, _ bool) ([]byte, error) {
			v, err := strconv.Atoi(string(old))
			return []byte(strconv.Itoa(v + 1)), err
		})
		if err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
	}
}
