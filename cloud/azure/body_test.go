package azure

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
)

// slowSender tells of an error before it has sent a body, and goes on sending it.
type slowSender struct{ bodies []io.Reader }

// Do implements policy.Transporter.
func (s *slowSender) Do(r *http.Request) (*http.Response, error) {
	s.bodies = append(s.bodies, r.Body)
	if len(s.bodies) == 1 {
		return nil, errors.New("connection reset by peer")
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
}

func TestEachTryHasItsOwnBody(t *testing.T) {
	const text = "everything that the machine is to be"
	sender := &slowSender{}
	o := Config{Version: "1"}.clientOptions()
	o.Transport, o.Retry.RetryDelay = sender, time.Nanosecond
	p := runtime.NewPipeline("test", "1", runtime.PipelineOptions{}, &o)
	r, err := runtime.NewRequest(t.Context(), http.MethodPut, "https://example.test")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.SetBody(streaming.NopCloser(strings.NewReader(text)), "text/plain"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Do(r); err != nil {
		t.Fatal(err)
	}
	if len(sender.bodies) != 2 {
		t.Fatalf("%d tries, want 2", len(sender.bodies))
	}
	for i, b := range []io.Reader{sender.bodies[1], sender.bodies[0]} {
		if got, err := io.ReadAll(b); err != nil || !bytes.Equal(got, []byte(text)) {
			t.Errorf("body %d: %q, %v", i, got, err)
		}
	}
}

var _ policy.Policy = ownBody{}
