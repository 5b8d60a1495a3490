// Package survey answers: what does a cluster show of itself to a person who may read it?
//
// It reads and asks; it changes nothing. What the person may not see is left out and named.
package survey

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	system = "kube-system"
	// chartLabel is on the controller's Deployment, in today's charts and in ours.
	chartLabel = "app.kubernetes.io/name=karpenter"
	// clientIDAnnotation names the identity of a service account (documentation of Azure Workload Identity).
	clientIDAnnotation = "azure.workload.identity/client-id"
	// someNodes is how many nodes are looked at: AKS' labels are the same on all of a pool, and few clusters have more pools.
	someNodes = 500
	// within bounds one request.
	within = 15 * time.Second
)

// Cluster is a way to ask a cluster.
type Cluster struct {
	api  kubernetes.Interface
	rest *rest.Config
}

// New prepares the questions; it asks nothing yet.
func New(rc *rest.Config) (*Cluster, error) {
	rc = rest.CopyConfig(rc)
	rc.Timeout = within
	api, err := kubernetes.NewForConfig(rc)
	if err != nil {
		return nil, err
	}
	return &Cluster{api: api, rest: rc}, nil
}

// Shown is what a cluster shows.
type Shown struct {
	Endpoint   string
	Issuer     string // of service account tokens
	Nodes      []Node
	DNS        string   // address of the service kube-dns
	DaemonSets []string // in kube-system
	// Karpenters are the controllers that are installed, ours or another.
	Karpenters []Karpenter
	// Hidden says what could not be seen, and why.
	Hidden []string
}

// Node is what matters of a node.
type Node struct {
	Name, ProviderID string
	Labels           map[string]string
	Ready            bool
}

// Karpenter is an installed controller.
type Karpenter struct {
	Namespace, Name, Account string
	// Env is its environment as far as it is literal. References name Secrets and pods, which are not followed.
	Env map[string]string
	// ClientID is what its service account is annotated with; "" when there is none.
	ClientID string
	// Ready is how many of its pods are.
	Ready int
}

// Look asks for everything in Shown. The error says that the API server cannot be reached or takes nobody of that name; what it refuses to show
// is in Hidden.
func (c *Cluster) Look(ctx context.Context) (Shown, error) {
	out := Shown{Endpoint: c.rest.Host}
	for _, s := range []struct {
		what string
		look func(context.Context, *Shown) error
	}{
		{"nodes", c.nodes}, {"the issuer of tokens", c.issuer}, {"service kube-dns", c.dns},
		{"DaemonSets", c.daemonSets}, {"Deployments", c.karpenters},
	} {
		err := s.look(ctx, &out)
		switch {
		case err == nil:
		case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
			out.Hidden = append(out.Hidden, fmt.Sprintf("%s: %v", s.what, err))
		default:
			return out, fmt.Errorf("look at %s: %w", s.what, err)
		}
	}
	return out, nil
}

func (c *Cluster) nodes(ctx context.Context, out *Shown) error {
	list, err := c.api.CoreV1().Nodes().List(ctx, metav1.ListOptions{Limit: someNodes})
	if err != nil {
		return err
	}
	for _, n := range list.Items {
		out.Nodes = append(out.Nodes, Node{Name: n.Name, ProviderID: n.Spec.ProviderID,
			Labels: n.Labels,
			Ready: slices.ContainsFunc(n.Status.Conditions, func(x corev1.NodeCondition) bool {
				return x.Type == corev1.NodeReady && x.Status == corev1.ConditionTrue
			})})
	}
	return nil
}

// issuer reads the discovery document of the API server, the same that Azure reads from the issuer's own address.
func (c *Cluster) issuer(ctx context.Context, out *Shown) error {
	raw, err := c.api.Discovery().RESTClient().Get().
		AbsPath("/.well-known/openid-configuration").DoRaw(ctx)
	if err != nil {
		return err
	}
	var doc struct {
		Issuer string `json:"issuer"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return err
	}
	out.Issuer = doc.Issuer
	return nil
}

func (c *Cluster) dns(ctx context.Context, out *Shown) error {
	s, err := c.api.CoreV1().Services(system).Get(ctx, "kube-dns", metav1.GetOptions{})
	if err != nil {
		return err
	}
	out.DNS = s.Spec.ClusterIP
	return nil
}

func (c *Cluster) daemonSets(ctx context.Context, out *Shown) error {
	list, err := c.api.AppsV1().DaemonSets(system).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, d := range list.Items {
		out.DaemonSets = append(out.DaemonSets, d.Name)
	}
	slices.Sort(out.DaemonSets)
	return nil
}

func (c *Cluster) karpenters(ctx context.Context, out *Shown) error {
	list, err := c.api.AppsV1().Deployments("").
		List(ctx, metav1.ListOptions{LabelSelector: chartLabel})
	if err != nil {
		return err
	}
	for _, d := range list.Items {
		k := karpenter(d)
		sa, err := c.api.CoreV1().ServiceAccounts(k.Namespace).Get(ctx, k.Account,
			metav1.GetOptions{})
		switch {
		case err == nil:
			k.ClientID = sa.Annotations[clientIDAnnotation]
		case !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err):
			return err
		}
		out.Karpenters = append(out.Karpenters, k)
	}
	slices.SortFunc(out.Karpenters, func(a, b Karpenter) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return nil
}

func karpenter(d appsv1.Deployment) Karpenter {
	spec := d.Spec.Template.Spec
	k := Karpenter{Namespace: d.Namespace, Name: d.Name, Account: spec.ServiceAccountName,
		Env: map[string]string{}, Ready: int(d.Status.ReadyReplicas)}
	if k.Account == "" {
		k.Account = "default"
	}
	for _, c := range spec.Containers {
		for _, e := range c.Env {
			if e.ValueFrom == nil {
				k.Env[e.Name] = e.Value
			}
		}
	}
	return k
}

// Clock is the API server's clock, by the Date of an answer, and how long that took. Dates are in whole seconds.
func (c *Cluster) Clock(ctx context.Context) (at time.Time, took time.Duration, err error) {
	client, err := rest.HTTPClientFor(c.rest)
	if err != nil {
		return time.Time{}, 0, err
	}
	base, _, err := rest.DefaultServerURL(c.rest.Host, "", schema.GroupVersion{}, true)
	if err != nil {
		return time.Time{}, 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet,
		base.JoinPath("version").String(), nil)
	if err != nil {
		return time.Time{}, 0, err
	}
	began := time.Now()
	resp, err := client.Do(req)
	if err != nil {
		return time.Time{}, 0, err
	}
	took = time.Since(began)
	at, err = http.ParseTime(resp.Header.Get("Date"))
	return at, took, errors.Join(err, resp.Body.Close())
}

// Resource is a kind of object of the same cluster, for who reads more of it.
func (c *Cluster) Resource(of schema.GroupVersionResource) (dynamic.ResourceInterface, error) {
	client, err := dynamic.NewForConfig(c.rest)
	if err != nil {
		return nil, err
	}
	return client.Resource(of), nil
}
