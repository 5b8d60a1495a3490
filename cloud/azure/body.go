package azure

import (
	"bytes"
	"io"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// ownBody gives each try of a request a body of its own. net/http may go on sending a body after it has told of an error
// or an early answer (http.RoundTripper: "Callers should wait for the Close call before reusing the request"), while the
// SDK rewinds the one body that all tries share: a part of it would be sent twice, or not at all.
type ownBody struct{}

// Do implements policy.Policy.
func (ownBody) Do(r *policy.Request) (*http.Response, error) {
	raw := r.Raw()
	if raw.Body == nil || raw.Body == http.NoBody {
		return r.Next()
	}
	data, err := io.ReadAll(raw.Body)
	if err != nil {
		return nil, err
	}
	if err := raw.Body.Close(); err != nil {
		return nil, err
	}
	fresh := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	raw.Body, _ = fresh() // it cannot fail
	raw.GetBody = fresh
	return r.Next()
}
