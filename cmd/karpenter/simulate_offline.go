package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/karpenter-aks/karpenter/cloud/azure"
	"github.com/karpenter-aks/karpenter/lab/arm"
	"github.com/karpenter-aks/karpenter/lab/skus"
	"github.com/karpenter-aks/karpenter/model"
)

// offlineURL is where the Azure inside this process seems to be. Nothing is ever sent there.
const offlineURL = "https://offline.invalid"

// offlineSite says what the catalogue of a cluster depends on beside its region.
type offlineSite struct {
	location string
	// cluster is the value of the label kubernetes.azure.com/cluster; "" when not known.
	cluster string
	// networkPlugin and networkMode decide how many pods a machine takes.
	networkPlugin, networkMode string
	memoryOverhead             float64
}

// offlineAzure is the real driver before the lab's Azure, in one process and without a network: so the sizes, labels,
// prices and overheads of a simulation come out of the code that also runs in a cluster.
type offlineAzure struct {
	cloud *arm.Cloud
	fleet *azure.Fleet
	dir   string
}

// newOffline starts it. Close it when done.
func newOffline(site offlineSite) (_ *offlineAzure, err error) {
	group := site.cluster
	if group == "" {
		group = "simulated"
	}
	const plenty = 1 << 30 // a file knows nothing of a subscription's quota
	o := &offlineAzure{}
	o.cloud, err = arm.New(arm.Config{
		Location: site.location, NodeResourceGroup: group, BaseURL: func() string { return offlineURL },
		Knobs: arm.Knobs{Quota: map[string]int{"*": plenty, "cores": plenty, "lowPriorityCores": plenty}},
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			o.Close()
		}
	}()
	// The lab's Azure takes any assertion, but the credential reads it from a file.
	if o.dir, err = os.MkdirTemp("", "karpenter-offline-"); err != nil {
		return nil, err
	}
	token := filepath.Join(o.dir, "token")
	if err = os.WriteFile(token, []byte("offline"), 0o600); err != nil {
		return nil, err
	}
	c := o.cloud.Config()
	o.fleet, err = azure.New(azure.Config{
		SubscriptionID: c.Subscription, TenantID: c.Tenant, ClientID: "offline", FederatedTokenFile: token, Location: c.Location,
		NodeResourceGroup: c.NodeResourceGroup, ClusterName: c.ClusterName, SubnetID: c.SubnetID, VnetGUID: c.VNetGUID,
		Network:      azure.Network{Plugin: site.networkPlugin, Mode: site.networkMode, Dataplane: "cilium"},
		SSHPublicKey: "ssh-ed25519 offline", MemoryOverheadPercent: site.memoryOverhead,
		Endpoints: azure.Endpoints{ResourceManager: offlineURL, AuthorityHost: offlineURL + "/", Audience: offlineURL, RetailPrices: offlineURL},
		Transport: &http.Client{Transport: inProcess{o.cloud}}, Version: version,
	}, nil)
	return o, err
}

// Offerings is what the region sells for the class.
func (o *offlineAzure) Offerings(ctx context.Context, class model.Class) (model.Catalog, error) {
	return o.fleet.Offerings(ctx, class)
}

// Close ends it.
func (o *offlineAzure) Close() {
	if o.fleet != nil {
		o.fleet.Close()
	}
	o.cloud.Close()
	if o.dir != "" {
		_ = os.RemoveAll(o.dir) // an empty directory with one word in it is left at worst
	}
}

// offlineRegions names the regions of the offline table.
func offlineRegions() ([]string, error) {
	table, err := skus.Load()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, r := range table.Regions() {
		out = append(out, r.Name)
	}
	return out, nil
}

// inProcess answers requests with a handler of the same process.
type inProcess struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	in := r.Clone(r.Context()) // a round tripper must leave the request as it is
	if in.Body == nil {
		in.Body = http.NoBody
	}
	defer in.Body.Close()
	in.Host, in.RequestURI = r.URL.Host, r.URL.RequestURI()
	w := &answer{header: http.Header{}, status: http.StatusOK}
	p.handler.ServeHTTP(w, in)
	return &http.Response{
		Status: fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)), StatusCode: w.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: w.header,
		Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}, nil
}

// answer gathers what a handler writes.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header, WriteHeader and Write implement http.ResponseWriter.
func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }
