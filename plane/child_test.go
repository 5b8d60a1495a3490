package plane

import (
	"fmt"
	"net"
	"strings"
	"testing"
)

func TestAPortInUseIsSaidInASentence(t *testing.T) {
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	port := other.Addr().(*net.TCPAddr).Port
	c := &child{cfg: Config{Dir: t.TempDir(), Port: port}}
	want := fmt.Sprintf("port %d is in use by another program: choose another port", port)
	if lis, err := c.listen(); err == nil || !strings.HasPrefix(err.Error(), want) {
		if lis != nil {
			lis.Close()
		}
		t.Errorf("got %v; want %q", err, want)
	}
}
