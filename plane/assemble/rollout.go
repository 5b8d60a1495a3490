package assemble

import (
	"context"
	"maps"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// repository is where the chart's image is from.
const repository = "ghcr.io/karpenter-aks/karpenter"

// rollout says what the Deployment of the controller asks to be run. An upgrade or a rollback of the release changes that,
// and the controller is started anew, as a cluster with nodes would.
type rollout struct {
	api  kubernetes.Interface
	say  func(format string, args ...any)
	runs func(image string) bool
	// changed is told when the answer of wants is another one.
	changed chan<- struct{}

	mu    sync.Mutex // guards the fields below
	image string     // of the Deployment; "" while there is none
	env   map[string]string
}

// wants returns the environment of the container that should run; nil when none should.
func (r *rollout) wants() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.image == "" || !r.runs(r.image) {
		return nil
	}
	return maps.Clone(r.env)
}

// follow looks at the Deployment until ctx ends.
func (r *rollout) follow(ctx context.Context) {
	f := informers.NewSharedInformerFactoryWithOptions(r.api, 0, informers.WithNamespace(Namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector("metadata.name", Release).String()
		}))
	// The handler of an informer that was not started is taken always.
	_, _ = f.Apps().V1().Deployments().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { r.see(o.(*appsv1.Deployment)) },
		UpdateFunc: func(_, o any) { r.see(o.(*appsv1.Deployment)) },
		DeleteFunc: func(any) { r.see(nil) },
	})
	f.Start(ctx.Done())
	<-ctx.Done()
	f.Shutdown()
}

// see takes a Deployment in; nil means that it is gone.
func (r *rollout) see(d *appsv1.Deployment) {
	image, env := "", map[string]string(nil)
	if d != nil && len(d.Spec.Template.Spec.Containers) > 0 {
		c := d.Spec.Template.Spec.Containers[0]
		image, env = c.Image, map[string]string{}
		for _, e := range c.Env {
			if e.ValueFrom == nil { // references name pods and limits, which a process has not
				env[e.Name] = e.Value
			}
		}
	}
	r.mu.Lock()
	same := r.image == image && maps.Equal(r.env, env)
	r.image, r.env = image, env
	r.mu.Unlock()
	if same {
		return
	}
	if image != "" && !r.runs(image) {
		r.say("the Deployment's image is %s, which this lab has not: nothing runs in its place", image)
	}
	select {
	case r.changed <- struct{}{}:
	default: // it is told already
	}
}

// runs reports whether the program that the lab has is the one in an image.
func (l *Lab) runs(image string) bool {
	if l.opts.Image == "" {
		return strings.HasPrefix(image, repository+":") || strings.HasPrefix(image, repository+"@")
	}
	digest, err := Image{l.opts.Image}.Digest()
	return err == nil && strings.HasSuffix(image, "@"+digest)
}
