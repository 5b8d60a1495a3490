package azure

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v9"

	"github.com/karpenter-aks/karpenter/cloud"
)

func TestTheNetworkIsFoundByNames(t *testing.T) {
	pool := func(name string) *armnetwork.BackendAddressPool {
		return &armnetwork.BackendAddressPool{ID: to.Ptr("/" + name), Name: to.Ptr(name), Properties: &armnetwork.BackendAddressPoolPropertiesFormat{}}
	}
	byAddress := pool("kubernetes")
	byAddress.ID = to.Ptr("/by-address")
	byAddress.Properties.LoadBalancerBackendAddresses = []*armnetwork.LoadBalancerBackendAddress{{
		Properties: &armnetwork.LoadBalancerBackendAddressPropertiesFormat{IPAddress: to.Ptr("10.0.0.4")},
	}}
	lb := func(name string, pools ...*armnetwork.BackendAddressPool) *armnetwork.LoadBalancer {
		return &armnetwork.LoadBalancer{Name: to.Ptr(name), Properties: &armnetwork.LoadBalancerPropertiesFormat{BackendAddressPools: pools}}
	}
	group := func(name string) *armnetwork.SecurityGroup {
		return &armnetwork.SecurityGroup{Name: to.Ptr(name), ID: to.Ptr("/" + name)}
	}
	n := readNetwork(
		[]*armnetwork.LoadBalancer{
			lb("kubernetes", pool("kubernetes"), pool("aksOutboundBackendPool"), pool("kubernetes-ipv6"), pool("mine")),
			lb("kubernetes-internal", byAddress), lb("other", pool("kubernetes")), nil,
		},
		[]*armnetwork.SecurityGroup{group("mine"), group("aks-agentpool-12345678-nsg"), group("aks-agentpool-1-nsg")},
	)
	if want := []string{"/aksOutboundBackendPool", "/kubernetes"}; !slices.Equal(n.backendPools, want) {
		t.Errorf("pools %v, want %v", n.backendPools, want)
	}
	if n.securityGroup != "aks-agentpool-12345678-nsg" || n.routeTable != "aks-agentpool-12345678-routetable" {
		t.Errorf("security group %q, route table %q", n.securityGroup, n.routeTable)
	}
}

func TestTheNewestImageIsTheOnePublishedLast(t *testing.T) {
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	v := func(name string, days int) *armcompute.CommunityGalleryImageVersion {
		return &armcompute.CommunityGalleryImageVersion{Name: to.Ptr(name), Properties: &armcompute.CommunityGalleryImageVersionProperties{
			PublishedDate: to.Ptr(now.AddDate(0, 0, -days)),
		}}
	}
	withheld, dead := v("202612.0.0", 1), v("202613.0.0", 1)
	withheld.Properties.ExcludeFromLatest = to.Ptr(true)
	dead.Properties.EndOfLifeDate = to.Ptr(now.AddDate(0, 0, -1))
	for _, c := range []struct {
		list []*armcompute.CommunityGalleryImageVersion
		want string
	}{
		{nil, ""},
		{[]*armcompute.CommunityGalleryImageVersion{v("202610.9.0", 3), v("202610.10.0", 2), nil}, "202610.10.0"},
		{[]*armcompute.CommunityGalleryImageVersion{withheld, v("202609.0.0", 90), dead}, "202609.0.0"},
		{[]*armcompute.CommunityGalleryImageVersion{withheld}, "202612.0.0"},
	} {
		if got, _ := newest(c.list, now); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestAnswersBecomeCodes(t *testing.T) {
	answer := func(status int, header http.Header, body string) error {
		return runtime.NewResponseError(&http.Response{
			StatusCode: status, Status: http.StatusText(status), Header: header, Body: io.NopCloser(strings.NewReader(body)),
			Request: &http.Request{Method: http.MethodPut, URL: &url.URL{Scheme: "https", Host: "arm.example"}},
		})
	}
	for _, c := range []struct {
		err   error
		code  cloud.Code
		after time.Duration
		text  string
	}{
		{answer(429, http.Header{"Retry-After": {"7"}}, `{"error":{"code":"OperationNotAllowed","message":"too many requests"}}`), cloud.Throttled, 7 * time.Second, "too many"},
		{answer(429, http.Header{"Retry-After-Ms": {"1500"}}, ``), cloud.Throttled, 1500 * time.Millisecond, "HTTP 429"},
		{answer(403, nil, `{"error":{"code":"Strange","message":"no"}}`), cloud.Denied, 0, "no"},
		{answer(404, nil, `{"error":{"code":"Strange","message":"gone"}}`), cloud.NotFound, 0, "gone"},
		{answer(400, nil, `{"error":{"code":"Strange","message":"bad"}}`), cloud.Invalid, 0, "bad"},
		{answer(500, nil, `<html>`), cloud.Unknown, 0, "HTTP 500"},
		{answer(409, nil, `{"error":{"code":"DeploymentFailed","message":"see details","details":[{"code":"X","message":"exceeding approved Total Regional Cores quota"}]}}`), cloud.Quota, 0, "Total Regional"},
		{answer(500, nil, `{"error":{"code":"InternalServerError","message":"oops"}}`), cloud.Unknown, 0, "oops"},
		{answer(408, nil, `{"error":{"code":"Timeout","message":"late"}}`), cloud.Unknown, 0, "late"},
		{answer(409, nil, `{"error":{"code":"Strange","message":"no"}}`), cloud.Refused, 0, "no"},
		{answer(413, nil, `<html>`), cloud.Refused, 0, "HTTP 413"},
		{context.Canceled, cloud.Unknown, 0, "canceled"},
		{errors.New("no route to host"), cloud.Unknown, 0, "no route"},
		{cloud.Errorf(cloud.Denied, "ours"), cloud.Denied, 0, "ours"},
	} {
		err := inWords(c.err, tried{})
		var e *cloud.Error
		if !errors.As(err, &e) || e.Code != c.code || e.More.RetryAfter != c.after || !strings.Contains(err.Error(), c.text) {
			t.Errorf("got %v (come back after %s), want %s, %s, %q", err, e.More.RetryAfter, c.code, c.after, c.text)
		}
	}
	if inWords(nil, tried{}) != nil {
		t.Error("no error became one")
	}
}

// One asks, the others wait for its answer; a failure keeps the last good answer.
func TestWhatIsKnownIsAskedForOnce(t *testing.T) {
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	k := newKnown[int](time.Hour)
	asked := 0
	ask := func(context.Context) (int, error) { asked++; return asked, nil }
	fail := func(context.Context) (int, error) { asked++; return 0, errors.New("down") }
	if _, err := k.get(t.Context(), clock, fail); err == nil {
		t.Error("knows something that it was never told")
	}
	for range 3 {
		if v, err := k.get(t.Context(), clock, ask); err != nil || v != 2 {
			t.Errorf("got %d, %v", v, err)
		}
	}
	now = now.Add(2 * time.Hour)
	for range 3 { // asked once, then it rests
		if v, err := k.get(t.Context(), clock, fail); err != nil || v != 2 {
			t.Errorf("while down: got %d, %v", v, err)
		}
	}
	if asked != 3 {
		t.Errorf("asked %d times, want 3", asked)
	}
	now = now.Add(askAgainAfter)
	if v, _ := k.get(t.Context(), clock, ask); v != 4 {
		t.Errorf("after the rest: got %d", v)
	}
}
