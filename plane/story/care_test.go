package story

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-aks/karpenter/internal/control"
	"github.com/karpenter-aks/karpenter/model"
	"github.com/karpenter-aks/karpenter/plane/assemble"
)

// carePods is how many pods the story of people's care has, each on a machine of its own.
const carePods = 3

// TestPeopleHoldTheReins pauses a pool, has it observed, lets a new template and then a new node image roll it within the usual budget of
// ten per cent, and looks for what it says and does at every step.
func TestPeopleHoldTheReins(t *testing.T) {
	armed := t.TempDir()
	l := upWith(t, []string{"KARPENTER_LAB_DIE_DIR=" + armed}, "--boot-time", "0s")
	l.apply("general-purpose.yaml")
	l.patchPool(`[{"op":"add","path":"/spec/template/spec/requirements/-","value":{"key":"karpenter.azure.com/sku-cpu","operator":"Lt","values":["3"]}}]`)
	l.annotate(model.AnnotationPause + "=provisioning")
	l.apply("inflate.yaml")
	l.scale("inflate", carePods)
	l.until("pods say what they wait for", time.Minute, func() bool { return l.told("Pod", "FailedScheduling", "paused") })
	if n := len(l.claims()); n > 0 {
		t.Errorf("%d NodeClaims were made for a pool whose provisioning is paused", n)
	}
	l.annotate(model.AnnotationPause + "-")
	l.until("all pods run", 6*time.Minute, func() bool { return l.running("inflate", carePods) && len(l.nodes()) == carePods })

	l.annotate(model.AnnotationDisruptionMode + "=observe")
	l.patchPool(`[{"op":"add","path":"/spec/template/metadata/labels/example.com~1generation","value":"2"}]`)
	l.until("a node says what would happen to it", 2*time.Minute, func() bool {
		return l.told("Node", "DisruptionObserved", "it would leave as drifted")
	})
	l.annotate(model.AnnotationDisruptionMode+"-", model.AnnotationPause+"=drift")
	l.until("the pool says that drift is paused", time.Minute, func() bool { return l.pauseOfPool() == "paused: drift" })
	for end := time.Now().Add(15 * time.Second); time.Now().Before(end); time.Sleep(time.Second) {
		if !l.atRest() || l.ofGeneration("2") > 0 {
			t.Fatal("nodes leave although they are only observed, or drift is paused")
		}
	}

	l.annotate(model.AnnotationPause + "-")
	l.rolls("all nodes are of the new template", func() bool { return l.ofGeneration("2") == carePods })
	const pin = model.AnnotationPinImages
	l.do("kubectl", "annotate", "aksnodeclass", "default", pin+"=true")
	l.newImage(armed, "202611.01.0")
	l.until("a pinned class rests", 2*time.Minute, func() bool { return l.running("inflate", carePods) && len(l.nodes()) == carePods && l.atRest() })
	for _, c := range l.claims() {
		if strings.HasSuffix(c.Status.ImageID, "/202611.01.0") {
			t.Errorf("NodeClaim %s has the new image although images are pinned", c.Name)
		}
	}
	const window = "upcoming-maintenance-window"
	opens := time.Now().UTC().Add(time.Hour)
	l.do("kubectl", "-n", assemble.Namespace, "create", "configmap", window,
		"--from-literal=aksManagedNodeOSUpgradeSchedule-start="+opens.Format(time.RFC3339),
		"--from-literal=aksManagedNodeOSUpgradeSchedule-end="+opens.Add(time.Hour).Format(time.RFC3339))
	l.do("kubectl", "annotate", "aksnodeclass", "default", pin+"-")
	l.until("the class says until when its images stay", time.Minute, func() bool {
		return strings.Contains(l.do("kubectl", "get", "aksnodeclass", "default", "-o",
			`jsonpath={.status.conditions[?(@.type=="ImagesReady")].message}`), "opens at "+opens.Format(time.RFC3339))
	})
	l.do("kubectl", "-n", assemble.Namespace, "delete", "configmap", window)
	l.do("kubectl", "annotate", "aksnodeclass", "default", pin+"=false") // or the class is looked at in five minutes
	l.rolls("all nodes have the new image", func() bool {
		for _, c := range l.claims() {
			if !strings.HasSuffix(c.Status.ImageID, "/202611.01.0") {
				return false
			}
		}
		return true
	})
	l.resourcesBelongToNodes()
	l.do("kubectl", "delete", "deployment", "inflate")
	l.until("nothing is left", 6*time.Minute, l.nothingLeft)
}

func (l *lab) patchPool(patch string) {
	l.t.Helper()
	l.do("kubectl", "patch", "nodepool", "general-purpose", "--type", "json", "-p", patch)
}

func (l *lab) annotate(notes ...string) {
	l.t.Helper()
	l.do(append([]string{"kubectl", "annotate", "--overwrite", "nodepool", "general-purpose"}, notes...)...)
}

// told reports whether an event with the reason and the words was said about an object of the kind.
func (l *lab) told(kind, reason, words string) bool {
	l.t.Helper()
	for _, e := range list(l, &corev1.EventList{}).Items {
		if e.InvolvedObject.Kind == kind && e.Reason == reason && strings.Contains(e.Message, words) {
			return true
		}
	}
	return false
}

// pauseOfPool is the message of the pool's condition, while it is true.
func (l *lab) pauseOfPool() string {
	l.t.Helper()
	for _, p := range list(l, &karpv1.NodePoolList{}).Items {
		for _, c := range p.Status.Conditions {
			if c.Type == model.Paused && c.Status == "True" {
				return c.Message
			}
		}
	}
	return ""
}

// ofGeneration counts the nodes of a generation of the template.
func (l *lab) ofGeneration(want string) (n int) {
	l.t.Helper()
	for _, x := range l.nodes() {
		if x.Labels["example.com/generation"] == want {
			n++
		}
	}
	return n
}

// rolls waits until all nodes are replaced, and looks that no more than one of them leaves at a time.
func (l *lab) rolls(what string, done func() bool) {
	l.t.Helper()
	most := 0
	l.until(what, 10*time.Minute, func() bool {
		leaving := 0
		for _, n := range l.nodes() {
			for _, x := range n.Spec.Taints {
				if x.Key == model.TaintDisrupted {
					leaving++
				}
			}
		}
		most = max(most, leaving)
		return l.running("inflate", carePods) && l.atRest() && done()
	})
	if most > 1 {
		l.t.Errorf("%s: %d of %d nodes left at a time with a budget of ten per cent", what, most, carePods)
	}
}

// newImage has Azure publish a version of its images, and the controller learn of it: it asks seldom, and when it starts.
func (l *lab) newImage(armed, version string) {
	l.t.Helper()
	l.knobs(fmt.Sprintf("images:\n- {gallery: AKSUbuntu-38d80f77-467a-481f-a8d4-09b6d4220bd2, image: '*', version: %s, published: %s}\n",
		version, time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)))
	point := filepath.Join(armed, string(control.PointPlanned))
	if err := os.WriteFile(point, nil, 0o600); err != nil {
		l.t.Fatal(err)
	}
	l.scale("inflate", carePods+1)
	l.until("the controller has died and starts again", 2*time.Minute, func() bool {
		_, err := os.Stat(point)
		return os.IsNotExist(err)
	})
	l.scale("inflate", carePods)
}
