package simulate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/worldtext"
	"github.com/karpenter-aks/karpenter/model"
)

// Pending says which pods without a node wait for one.
type Pending string

// The choices.
const (
	// PendingAll: every pod without a node that nothing else holds back. A dump is one moment, and kube-scheduler may not have
	// looked at the pod yet.
	PendingAll Pending = "all"
	// PendingUnschedulable: only those of which kube-scheduler said that no node takes them, as in a running controller.
	PendingUnschedulable Pending = "unschedulable"
)

// Site is what the offerings of a cluster depend on beside its classes.
type Site struct {
	Location string // "westus3"
	Cluster  string // value of the nodes' label kubernetes.azure.com/cluster; "" when no node tells
}

// Options of a run.
type Options struct {
	Files []File
	// Catalog, when it has a name, holds type lines that say what can be bought.
	Catalog File
	// Location is the region whose offerings to take when no file says what can be bought; "" means that of the nodes.
	Location string
	Pending  Pending // "" means what the scenario says, else PendingAll
	// Preferences says what pods' wishes are worth; "" means what the scenario says, else place.Respect.
	Preferences place.Preferences
	// MinValues says whether minValues of pools are a must; "" means what the scenario says, else place.Strict.
	MinValues place.MinValues
	// Accept ends the search for a better plan after so many steps of its trace; 0 = never.
	Accept int
	// Without names nodes to do without: what if they left?
	Without []string
	// Notes are what is known of the files beforehand, for people.
	Notes []string
	// Now is the moment to look at; zero means the newest time in the files: a dump may be old.
	Now time.Time
	// Locations are the regions that Offerings knows.
	Locations []string
	// Partial: the world is to be looked at, and may be of another cloud: where nothing is known of a class, or of what can be bought, that
	// is noted, and is no error.
	Partial bool
	// Offerings sells for one class. It is called only when no file says what can be bought.
	Offerings func(ctx context.Context, site Site, class model.Class) (model.Catalog, error)
}

const labelAKSCluster = "kubernetes.azure.com/cluster"

// Question is what the files ask.
type Question struct {
	World       model.World
	Notes       []string // what was assumed, for people
	Preferences place.Preferences
	MinValues   place.MinValues
	Accept      int
	// Refused is a plan that the files hold because a controller refused it; nil = none.
	Refused *place.Plan
	// Now is the moment that the world is looked at.
	Now time.Time
}

// Read reads the files and fills in what a file cannot hold. The error is *Invalid for input that makes no sense.
func Read(ctx context.Context, o Options) (Question, error) {
	in, err := read(o.Files)
	if err != nil {
		return Question{}, err
	}
	q := Question{Refused: in.text.refused, Accept: o.Accept, Now: o.Now}
	if q.World, err = in.fill(ctx, o); err != nil {
		return Question{}, err
	}
	if q.Now.IsZero() {
		q.Now = in.moment(q.World)
	}
	q.Notes = append(slices.Clone(o.Notes), in.notes...)
	q.Preferences, q.MinValues, err = in.policies(o)
	return q, err
}

func (in *input) fill(ctx context.Context, o Options) (model.World, error) {
	sold, err := in.sold(o.Catalog)
	if err != nil {
		return model.World{}, err
	}
	if len(in.problems) > 0 {
		return model.World{}, &Invalid{in.problems}
	}
	w := in.world()
	if len(w.Pools)+len(w.Pods)+len(w.Nodes) == 0 {
		return model.World{}, &Invalid{[]Problem{{What: "there is no pool, no node and no pod in the input",
			Do: "dump with: kubectl get nodes,pods,daemonsets,nodepools,nodeclaims,aksnodeclasses,pdb -A -o yaml"}}}
	}
	if err := in.classes(w, o.Partial, len(sold) > 0); err != nil {
		return model.World{}, err
	}
	w = in.world()
	in.ready(w)
	in.absent(w, len(o.Without) > 0)
	in.namespaces(w)
	if err := in.without(w, o.Without); err != nil {
		return model.World{}, err
	}
	if err := in.pending(w, o.Pending); err != nil {
		return model.World{}, err
	}
	if err := in.catalogs(ctx, w, o, sold); err != nil {
		return model.World{}, err
	}
	w = in.world()
	in.anywhere(&w)
	in.stuck(w, o.Without)
	return w, nil
}

// policies says what wishes are worth, and whether minValues are a must.
func (in *input) policies(o Options) (place.Preferences, place.MinValues, error) {
	wishes := cmp.Or(o.Preferences, place.Preferences(in.args["preferences"]))
	choice := cmp.Or(o.MinValues, place.MinValues(in.args["min-values"]))
	var bad []Problem
	if !slices.Contains([]place.Preferences{"", place.Respect, place.Ignore}, wishes) {
		bad = append(bad, Problem{What: fmt.Sprintf("preferences: there is no %q", wishes), Do: "want Respect or Ignore"})
	}
	if !slices.Contains([]place.MinValues{"", place.Strict, place.BestEffort}, choice) {
		bad = append(bad, Problem{What: fmt.Sprintf("min-values: there is no %q", choice), Do: "want Strict or BestEffort"})
	}
	if len(bad) > 0 {
		return "", "", &Invalid{bad}
	}
	return wishes, choice, nil
}

// without lets nodes leave: their pods look for another place, as those of a node that is being deleted.
func (in *input) without(w model.World, names []string) error {
	var bad []Problem
	for _, name := range names {
		i := slices.IndexFunc(w.Nodes, func(n model.Node) bool { return n.Name == name })
		if i < 0 {
			bad = append(bad, Problem{What: fmt.Sprintf("without: there is no node %q", name), Do: "name a node of the input"})
			continue
		}
		n := w.Nodes[i]
		n.DeletedAt = worldtext.Epoch() // any time will do
		in.tell(n)
	}
	if len(bad) > 0 {
		return &Invalid{bad}
	}
	return nil
}

// stuck says what the leaving nodes cost now, and which of their pods may not leave.
func (in *input) stuck(w model.World, names []string) {
	moves := map[model.PodKey]bool{}
	for _, p := range place.Waiting(w) {
		moves[p.Key()] = true
	}
	for _, name := range names {
		i := slices.IndexFunc(w.Nodes, func(n model.Node) bool { return n.Name == name })
		if price, ok := priceOf(w, w.Nodes[i]); ok {
			in.note(fmt.Sprintf("without node %s, which costs %s", name, price))
		} else {
			in.note(fmt.Sprintf("without node %s, whose price is not known", name))
		}
		var stay []string
		for _, p := range w.Pods {
			if p.Node == name && p.Reschedulable() && !moves[p.Key()] {
				stay = append(stay, p.Key().String())
			}
		}
		if len(stay) > 0 {
			in.note(fmt.Sprintf("pods that may not leave node %s (do-not-disrupt, or a budget that allows nobody to go): %s", name, some(stay, maxNamed)))
		}
	}
}

// priceOf is what a node costs by the catalogue of its pool.
func priceOf(w model.World, n model.Node) (model.Price, bool) {
	i := slices.IndexFunc(w.Pools, func(p model.Pool) bool { return p.Name == n.Labels[model.LabelPool] })
	if i < 0 {
		return 0, false
	}
	t, _ := w.Catalog(w.Pools[i].Name, w.Pools[i].Class).Type(n.Labels[model.LabelInstanceType])
	for _, o := range t.Offerings {
		if o.Zone == n.Labels[model.LabelZone] && o.CapacityType == n.Labels[model.LabelCapacityType] {
			return o.Price, true
		}
	}
	return 0, false
}

// sold reads the catalogue that was given beside the world. Its problems become those of the input.
func (in *input) sold(f File) (map[model.ClassRef]model.Catalog, error) {
	if f.Name == "" {
		return nil, nil
	}
	from, err := read([]File{f})
	if err != nil {
		return nil, err
	}
	if len(from.problems) == 0 && len(from.text.catalogs) == 0 {
		from.bad(Problem{File: f.Name, What: "a catalogue without a type", Do: "write lines like: type D2 cpu=2 memory=8Gi zones=westus3-1 price=0.10 spot=0.02"})
	}
	in.problems = append(in.problems, from.problems...)
	return from.text.catalogs, nil
}

// Sold reads a catalogue: type lines, by class. The error is *Invalid.
func Sold(f File) (map[model.ClassRef]model.Catalog, error) {
	var in input
	sold, err := in.sold(f)
	if err == nil && len(in.problems) > 0 {
		err = &Invalid{in.problems}
	}
	return sold, err
}

// classes adds the classes that pools name and no file has, with the defaults of the API.
// Of a class of another provider the catalogue says all that is needed, when there is one.
func (in *input) classes(w model.World, partial, priced bool) error {
	for _, p := range w.Pools {
		if in.objects == 0 && p.Class != worldtext.Ref("default") {
			continue // a scenario leaves it out on purpose; only the default class needs not be written
		}
		if p.Class.Name == "" || slices.ContainsFunc(w.Classes, func(c model.Class) bool { return c.Ref == p.Class }) {
			continue
		}
		known := p.Class.Group == worldtext.Group && p.Class.Kind == worldtext.Kind
		if !known && priced {
			in.tell(model.Class{Ref: p.Class, Conditions: []model.Condition{{Type: model.Ready, Status: model.True}}})
			in.note(fmt.Sprintf("%s of group %q is taken to be ready: what it may buy is what the catalogue says", p.Class, p.Class.Group))
			w = in.world()
			continue
		}
		if !known && partial {
			in.note(fmt.Sprintf("nothing is known here of %s of group %q, which pool %s uses: it has no prices", p.Class, p.Class.Group, p.Name))
			continue
		}
		if !known {
			return &Invalid{[]Problem{{What: fmt.Sprintf("pool %s uses %s of group %q, of which nothing is known here", p.Name, p.Class, p.Class.Group),
				Do: fmt.Sprintf("say what it may buy with --catalog FILE; only of %s of %s prices are known", worldtext.Kind, worldtext.Group)}}}
		}
		object := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q}}`, p.Class.Group+"/v1beta1", p.Class.Kind, p.Class.Name)
		if _, err := in.reader.Read([]byte(object)); err != nil {
			return fmt.Errorf("default class: %w", err)
		}
		if in.objects > 0 {
			in.note(fmt.Sprintf("%s is not in the input: a class with default settings is assumed", p.Class))
		}
		w = in.world() // two pools may name it
	}
	return nil
}

// absent says which kinds of objects a dump is without that would matter. A scenario leaves them out on purpose.
func (in *input) absent(w model.World, leaving bool) {
	if in.kinds["Node"] == 0 {
		return // not a dump of a cluster, but what somebody wrote
	}
	var none []string
	if len(w.Daemons) == 0 && len(w.Pools) > 0 {
		none = append(none, "daemonsets (what they take of each new machine)")
	}
	ours := func(n model.Node) bool { return n.Labels[model.LabelPool] != "" }
	if len(w.Claims) == 0 && slices.ContainsFunc(w.Nodes, ours) {
		none = append(none, "nodeclaims (machines on their way)")
	}
	if len(w.PDBs) == 0 && leaving {
		none = append(none, "poddisruptionbudgets (who may not leave)")
	}
	if len(none) > 0 {
		in.note("not in the input, and so taken not to exist: " + strings.Join(none, ", "))
	}
	spaces := map[string]bool{}
	for i := range w.Pods {
		spaces[w.Pods[i].Namespace] = true
	}
	if len(spaces) == 1 {
		in.note(fmt.Sprintf("all pods are in namespace %s: dump with -A, or the room that others take counts as free", w.Pods[0].Namespace))
	}
}

// ready takes pools and classes for ready that no controller has looked at: a file that a person wrote has no status.
func (in *input) ready(w model.World) {
	var assumed []string
	for _, p := range w.Pools {
		if len(p.Conditions) == 0 {
			p.Conditions = []model.Condition{{Type: model.Ready, Status: model.True, ObservedGeneration: p.Generation}}
			in.tell(p)
			assumed = append(assumed, "pool "+p.Name)
		}
	}
	for _, c := range w.Classes {
		if len(c.Conditions) == 0 {
			c.Conditions = []model.Condition{{Type: model.Ready, Status: model.True, ObservedGeneration: c.Generation}}
			in.tell(c)
		}
	}
	if len(assumed) > 0 {
		in.note("no status, so taken to be ready: " + some(assumed, maxNamed))
	}
}

// namespaces adds those that pods are in and no file has, with the label that every namespace has: selectors of
// namespaces look at them.
func (in *input) namespaces(w model.World) {
	known := map[string]bool{}
	for _, n := range w.Namespaces {
		known[n.Name] = true
	}
	for _, p := range w.Pods {
		if !known[p.Namespace] {
			known[p.Namespace] = true
			in.tell(model.Namespace{Name: p.Namespace, Labels: map[string]string{"kubernetes.io/metadata.name": p.Namespace}})
		}
	}
}

// pending decides which pods wait.
func (in *input) pending(w model.World, choice Pending) error {
	if choice == "" {
		choice = Pending(in.args["pending"])
	}
	switch choice {
	case PendingUnschedulable:
		return nil
	case "", PendingAll:
	default:
		return &Invalid{[]Problem{{What: fmt.Sprintf("pending: there is no %q", choice), Do: "want all or unschedulable"}}}
	}
	n := 0
	for _, p := range w.Pods {
		if p.Node == "" && !p.Unschedulable {
			p.Unschedulable = true
			in.tell(p)
			if p.Provisionable() {
				n++
			}
		}
	}
	if n > 0 {
		in.note(fmt.Sprintf("%s that kube-scheduler has not judged yet counted as waiting (--pending=unschedulable leaves them out)", model.Count(n, "pod")))
	}
	return nil
}

// anywhere lets volumes of which the input says nothing be reached from everywhere: a dump may be without them.
func (in *input) anywhere(w *model.World) {
	claims := in.kinds["PersistentVolumeClaim"] > 0 || in.made > 0
	volumes := in.kinds["PersistentVolume"] > 0 || !in.bound // volumes yet to be made are nowhere
	if claims && volumes && in.kinds["StorageClass"] > 0 {
		return
	}
	n, owned := 0, false
	for i, p := range w.Pods {
		if len(p.VolumeClaims) > 0 && slices.Contains(p.Needs, model.WhyVolumes) {
			if !owned {
				w.Pods, owned = slices.Clone(w.Pods), true
			}
			w.Pods[i].Needs = slices.DeleteFunc(slices.Clone(p.Needs), func(y model.Why) bool { return y == model.WhyVolumes })
			if p.Provisionable() {
				n++
			}
		}
	}
	if n > 0 {
		in.note(fmt.Sprintf("volumes of %s taken to be within reach of every node: the input has not all of persistentvolumeclaims, persistentvolumes, storageclasses", model.Count(n, "pod")))
	}
}

// catalogs fills in what can be bought: from the files, from the given catalogue, or from a region's offerings.
func (in *input) catalogs(ctx context.Context, w model.World, o Options, sold map[model.ClassRef]model.Catalog) error {
	written := in.text.catalogs
	if o.Location != "" || len(sold) > 0 {
		written, in.text.ofPools = nil, nil // who asks for something else gets it
	}
	var missing []model.Class
	for _, c := range w.Classes {
		if !slices.ContainsFunc(w.Pools, func(p model.Pool) bool { return p.Class == c.Ref }) {
			continue
		}
		found := false
		for _, from := range []map[model.ClassRef]model.Catalog{written, sold} {
			cat, ok := from[c.Ref]
			if general, any := from[worldtext.Ref("default")]; !ok && in.objects > 0 && any {
				cat, ok = general, true // types without a class are for every class of a dump
			}
			if ok {
				cat.Class = c.Ref
				in.mirror.SetCatalog(cat)
				found = true
			}
		}
		if !found && (len(written) == 0 || in.objects > 0) {
			missing = append(missing, c)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	site, from, err := in.site(w, o)
	if err != nil && o.Partial {
		in.note("there are no prices: " + strings.ReplaceAll(err.Error(), "\n", " "))
		return nil
	}
	if err != nil {
		return err
	}
	for _, c := range missing {
		got, err := o.Offerings(ctx, site, c)
		if err != nil {
			return fmt.Errorf("offerings of %s for %s: %w", site.Location, c.Ref, err)
		}
		in.mirror.SetCatalog(got)
	}
	in.note(fmt.Sprintf("sizes and prices are those of the built-in table for %s%s; quota and what is sold out are not known", site.Location, from))
	return nil
}

// site finds out where the cluster is.
func (in *input) site(w model.World, o Options) (site Site, from string, err error) {
	site.Location = o.Location
	if site.Location == "" {
		site.Location = in.args["location"]
	}
	regions := map[string]bool{}
	for _, n := range w.Nodes {
		if r := n.Labels[model.LabelRegion]; r != "" {
			regions[r] = true
		}
		if c := n.Labels[labelAKSCluster]; c != "" && site.Cluster == "" {
			site.Cluster = c
		}
	}
	if site.Location == "" && len(regions) == 1 {
		site.Location, from = slices.Collect(maps.Keys(regions))[0], " (the nodes are there)"
	}
	site.Location = strings.ToLower(strings.ReplaceAll(site.Location, " ", "")) // "West US 3" is westus3
	known := "one of " + strings.Join(o.Locations, ", ")
	switch {
	case o.Offerings == nil:
		return site, "", &Invalid{[]Problem{{What: "the input does not say what can be bought", Do: "write type lines"}}}
	case site.Location == "":
		return site, "", &Invalid{[]Problem{{What: "the input does not say what can be bought, and no node says in which region the cluster is",
			Do: "give --location, " + known + ", or --catalog with a file of type lines"}}}
	case !slices.Contains(o.Locations, site.Location):
		return site, "", &Invalid{[]Problem{{What: fmt.Sprintf("the built-in table does not know the region %q", site.Location),
			Do: "give --location, " + known + ", or --catalog with a file of type lines"}}}
	}
	return site, from, nil
}
