package housetest

import (
	"go/ast"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// floors is the law: a package may import packages of lower floors only, or those of its own floor that also names.
// The longest matching prefix counts. Tests may import anything of ours but internal/control's users.
var floors = []struct {
	prefix string
	floor  float64
	also   []string // packages of the same floor it may use
	why    string
}{
	{"model", 0, nil, "nouns; everybody imports them, they import nobody"},
	{"internal/palette", 0, nil, "colours of a terminal, and nothing of ours"},
	{"internal/spell", 0.5, nil, "letters, and nothing of ours"},
	{"internal/coded", 0.5, nil, "the form of errors at the doors, and nothing of ours"},
	{"internal/outage", 0.5, nil, "what nodes say of their own end"},
	{"internal/require", 0.5, nil, "label algebra over model"},
	{"internal/manifest", 0.5, nil, "documents of files; YAML, and nothing of ours"},
	{"internal/blocks", 0.5, nil, "YAML as kubectl writes it, and nothing of ours"},
	{"internal/mutated", 0, nil, "texts made of texts, for tests of readers"},
	{"internal/values", 0.5, nil, "values of a chart and who says them, and nothing of ours"},
	{"internal/doctor", 0.5, nil, "facts in, findings out, and nothing of ours"},
	{"internal/crddiff", 0.5, nil, "definitions as values, and nothing of ours"},
	{"internal/convert", 0.6, nil, "older manifests, read as all of them are"},
	{"internal/migrate", 0.6, nil, "agent pools in, manifests and notes out"},
	{"internal/cast", 0.5, nil, "recorded screens as values, and nothing of ours"},
	{"internal/worldtext", 0.6, nil, "how people write small worlds"},
	{"internal/workload", 0.7, nil, "worlds for benchmarks and large tests"},
	{"internal/worldgen", 0.7, nil, "worlds in which much can go wrong"},
	{"internal/plan/vec", 0.3, nil, "amounts of several resources"},
	{"internal/plan/bitset", 0.3, nil, "sets of small integers"},
	{"internal/plan/leastalloc", 0.3, nil, "where kube-scheduler puts pods"},
	{"internal/plan/unbeaten", 0.9, nil, "what is for sale, compared: knows neither pods nor nodes"},
	{"internal/plan/portfolio", 0.95, nil, "groups of like pods and machines: knows neither pods nor nodes"},
	{"internal/plan/pack", 0.9, nil, "bins and items: knows neither pods nor nodes"},
	{"internal/plan/answer", 0.3, nil, "what a plan says"},
	{"internal/plan/planned", 0.3, nil, "what claims were made for"},
	{"internal/plan/alike", 0.915, nil, "pods that no rule can tell apart"},
	{"internal/plan/offerings", 0.91, nil, "a catalogue arranged for questions"},
	{"internal/plan/problem", 0.92, nil, "what stands fixed for one decision"},
	{"internal/plan/leastprice", 0.93, nil, "what machines cost at least"},
	{"internal/plan/topology", 0.96, nil, "where pods stand to each other"},
	{"internal/plan/held", 0.965, nil, "what budgets hold back when others leave"},
	{"internal/plan/assign", 0.97, nil, "how many of whom go where"},
	{"internal/plan/offer", 0.98, nil, "claims for what was assigned"},
	{"internal/plan/verify", 0.985, nil, "binds the whole plan again"},
	{"internal/plan/explain", 0.99, nil, "why pods go nowhere"},
	{"internal/place", 1, nil, "a pure decider: the page of the plan"},
	{"internal/budget", 1, nil, "a pure decider"},
	{"internal/drift", 0.9, nil, "a pure decider"},
	{"internal/lifecycle", 1, nil, "a pure decider"},
	{"internal/drain", 1, nil, "a pure decider"},
	{"internal/ready", 1.1, nil, "a pure decider that asks budget what can be read"},
	{"internal/overlay", 1, nil, "a pure decider"},
	{"internal/buffer", 1, nil, "a pure decider"},
	{"internal/nomination", 1.1, nil, "a pure decider that reads what place planned"},
	{"internal/static", 1.1, nil, "a pure decider that asks place what to buy"},
	{"internal/disrupt", 1.15, nil, "a pure decider that asks budget, place and static"},
	{"internal/bound", 1, nil, "a pure decider"},
	{"internal/atrest", 1.2, nil, "a pure decider that asks bound about what disrupt kept"},
	{"internal/audit", 1.1, nil, "re-checks place's plans, and so reads their types"},
	{"internal/letin", 1.2, nil, "asks place with one thing changed, and audit about what it found"},
	{"internal/top", 1.3, nil, "what a person sees of a picture: values in, lines out"},
	{"internal/world", 2, nil, "the live mirror"},
	{"cloud", 2, nil, "the cloud door"},
	{"cloud/market", 2.1, nil, "memory and pacing above any driver"},
	{"cloud/memcloud", 2.1, nil, "the cloud door's twin"},
	{"cloud/cloudtest", 2.2, nil, "the cloud door's exam"},
	{"cloud/azure", 2.5, nil, "a driver: I/O lives here"},
	{"api", 2.4, []string{"api"}, "wire types of the cluster"},
	{"deploy", 2.4, nil, "charts as data"},
	{"internal/kube", 2.4, nil, "the cluster door"},
	{"internal/kube/memkube", 2.5, nil, "the cluster door's twin"},
	{"internal/kube/apikube", 2.5, nil, "the cluster door over an API server"},
	{"internal/kube/guard", 2.5, nil, "asks an API server who may see what we serve"},
	{"internal/kube/survey", 2.5, nil, "asks an API server what it shows a person"},
	{"internal/kube/storetest", 2.6, nil, "the cluster door's exam"},
	{"lab", 2.5, []string{"lab"}, "a cloud and machines for one desk; shares no code with drivers"},
	{"lab/provision", 2.5, []string{"lab"}, "what AKS' scripts make of custom data: decides over values, and asks the network through an interface"},
	{"internal/evidence", 2.9, nil, "what an unsound plan looked like"},
	{"internal/meter", 2.85, nil, "which metrics there are, and what a picture says of them"},
	{"internal/config", 3, nil, "what we are told"},
	{"internal/simulate", 3, nil, "what we would do about a dump"},
	{"internal/observe", 3, nil, "what we say"},
	{"internal/control", 3.1, nil, "thin loops: see, decide, do"},
	{"internal/sim", 4, nil, "sees everything; constructs"},
	{"cmd", 4, nil, "sees everything; constructs"},
	{"internal/manual", 4, nil, "tests only: pages of the manual, and what the code says of it"},
	{"internal/scenario", 4, nil, "tests only: worlds in files, and what is decided about them"},
	{"plane", 5, []string{"plane"}, "the lab's world, above the product"},
	{"plane/volumes", 5, []string{"plane"}, "AKS' storage drivers in front of the lab's Azure"},
	{"plane/tunnel", 5, []string{"plane"}, "what stands for kubelets and services"},
	{"plane/usage", 5, []string{"plane"}, "metrics-server over annotations"},
	{"release", 5, []string{"release"}, "makes what is shipped; runs the go command, and imports nothing of the product"},
	{"bench", 4, []string{"bench"}, "inputs and floors of measurements; sees everything"},
	{"compat", 5, []string{"compat"}, "judges from outside, above the product"},
	{"internal/housetest", 5, nil, "reads everybody, imports nobody"},
}

func floorOf(dir string) (floor float64, also []string, known bool) {
	best := -1
	for _, f := range floors {
		if under(dir, f.prefix) && len(f.prefix) > best {
			best, floor, also, known = len(f.prefix), f.floor, f.also, true
		}
	}
	return floor, also, known
}

func TestImportsGoDown(t *testing.T) {
	for _, s := range tree(t) {
		mine, also, known := floorOf(s.dir)
		if !known {
			t.Errorf("%s: package %s stands on no floor; add it to the table with its reason", s.path, s.dir)
			continue
		}
		if s.test {
			continue
		}
		for _, imp := range s.imports {
			to, ok := local(imp)
			if !ok || underAny(to, also) {
				continue
			}
			if theirs, _, known := floorOf(to); known && theirs >= mine {
				t.Errorf("%s (floor %v) imports %s (floor %v): imports go down, so that each room can be understood without those above it",
					s.path, mine, to, theirs)
			}
		}
	}
}

// isPure: they decide, or are what deciders are made of: all below the live mirror. The world is an argument of theirs.
func isPure(dir string) bool {
	floor, _, known := floorOf(dir)
	return known && floor < 2
}

// impure are packages of the standard library and others that do I/O, wait, log, or draw from a hidden source.
var impure = []string{"os", "net", "log", "io/fs", "io/ioutil", "syscall", "os/exec", "os/signal", "crypto/rand", "embed",
	"runtime", "sync", "context", "database/sql", "github.com/go-logr", "go.uber.org/zap", "golang.org/x/sync", "golang.org/x/time"}

// memory are the files of pure packages that may lock: they remember what they worked out from values that never change, so that nobody can
// tell whether they did.
var memory = []string{"model/index.go", "model/nodepods.go"}

func TestDecidersArePure(t *testing.T) {
	for _, s := range tree(t) {
		if s.test || !isPure(s.dir) {
			continue
		}
		for _, imp := range s.imports {
			if imp == "sync" && slices.Contains(memory, s.path) {
				continue
			}
			if underAny(imp, impure) || kubernetes(imp) || cloudSDK(imp) {
				t.Errorf("%s imports %s: a decider takes values and returns a value; it does no I/O, does not wait, log or share", s.path, imp)
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt, *ast.ChanType:
				t.Errorf("%s: goroutines and channels: what runs beside it can change a decider's answer, and waiting is not its business", s.fset.Position(n.Pos()))
			case *ast.SelectorExpr:
				id, ok := n.X.(*ast.Ident)
				switch {
				case !ok:
				case id.Name == "time" && clock[n.Sel.Name]:
					t.Errorf("%s: time.%s: time is an argument in a decider", s.fset.Position(n.Pos()), n.Sel.Name)
				case id.Name == "rand" && !seeded[n.Sel.Name]:
					t.Errorf("%s: rand.%s: randomness is a source that someone passed in", s.fset.Position(n.Pos()), n.Sel.Name)
				}
			}
			return true
		})
	}
}

// The map says which packages are pure, and the table of floors where that is checked.
func TestTheMapsPureRoomsAreChecked(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(rootDir(t), "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	rooms := 0
	for line := range strings.Lines(string(raw)) {
		words := strings.Fields(line)
		if len(words) < 2 || words[len(words)-1] != "pure" || !strings.HasSuffix(words[0], "/") {
			continue
		}
		rooms++
		if dir := strings.TrimSuffix(words[0], "/"); !isPure(dir) {
			t.Errorf("the map says that %s is pure, and its floor does not: nobody would check it", dir)
		}
	}
	if rooms < 10 {
		t.Errorf("the map has %d pure rooms: it is read wrongly", rooms)
	}
}

// seeded are the names of math/rand/v2 that draw nothing from a source of the process.
var seeded = map[string]bool{"New": true, "NewPCG": true, "NewChaCha8": true, "NewZipf": true, "Rand": true, "Source": true, "PCG": true, "Zipf": true}

var clock = map[string]bool{"Now": true, "Since": true, "Until": true, "Sleep": true, "After": true, "AfterFunc": true, "Tick": true,
	"NewTimer": true, "NewTicker": true}

func kubernetes(imp string) bool {
	return underAny(imp, []string{"k8s.io", "sigs.k8s.io/controller-runtime", "sigs.k8s.io/karpenter"})
}

func cloudSDK(imp string) bool {
	return strings.HasPrefix(imp, "github.com/Azure/") || strings.HasPrefix(imp, "github.com/aws/")
}

func TestKubernetesStaysAtTheDoor(t *testing.T) {
	allowed := []string{"api", "internal/kube", "cmd", "lab/kubelet", "plane", "deploy", "compat"}
	for _, s := range tree(t) {
		if underAny(s.dir, allowed) {
			continue
		}
		for _, imp := range s.imports {
			if kubernetes(imp) {
				t.Errorf("%s imports %s: Kubernetes types stay in %v; everything else speaks model's words", s.path, imp, allowed)
			}
		}
	}
}

func TestCloudSDKStaysInItsDriver(t *testing.T) {
	// Tests of the emulator, and of who reads what az prints, hold them against what they wrote.
	tests := []string{"lab/arm", "internal/migrate"}
	for _, s := range tree(t) {
		for _, imp := range s.imports {
			if cloudSDK(imp) && !under(s.dir, "cloud/azure") && !(s.test && underAny(s.dir, tests)) {
				t.Errorf("%s imports %s: a cloud's own types stay in its driver (and in tests of %v)", s.path, imp, tests)
			}
		}
	}
}

func TestUpstreamStaysAmongTheJudges(t *testing.T) {
	for _, s := range tree(t) {
		for _, imp := range s.imports {
			if under(imp, "sigs.k8s.io/karpenter") && !under(imp, "sigs.k8s.io/karpenter/pkg/apis") && !under(s.dir, "compat") {
				t.Errorf("%s imports %s: we import the contract and write the machinery; upstream's machinery is only asked by judges", s.path, imp)
			}
		}
	}
}

func TestLabAndDriversShareNoCode(t *testing.T) {
	drivers := []string{"cloud/azure", "cloud/aws"}
	for _, s := range tree(t) {
		if s.test {
			continue
		}
		for _, imp := range s.imports {
			to, ok := local(imp)
			if ok && (under(s.dir, "lab") && underAny(to, drivers) || underAny(s.dir, drivers) && under(to, "lab")) {
				t.Errorf("%s imports %s: an emulator that shares code with the driver would share its mistakes", s.path, to)
			}
		}
	}
}
