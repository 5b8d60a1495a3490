package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-aks/karpenter/api/admit"
	"github.com/karpenter-aks/karpenter/internal/manifest"
	"github.com/karpenter-aks/karpenter/internal/migrate"
	"github.com/karpenter-aks/karpenter/internal/simulate"
	"github.com/karpenter-aks/karpenter/model"
)

type migrateFlags struct {
	simulateFlags
	files    []string
	sameSize bool
	output   string
}

func migrateCommand() *cobra.Command {
	var f migrateFlags
	cmd := &cobra.Command{
		Use:   "migrate [-f FILE]... [DUMP...]",
		Short: "Write agent pools and cluster-autoscaler profiles as NodePools, and say what they would buy",
		Long: `Write agent pools and cluster-autoscaler profiles as NodePools and AKSNodeClasses, and say what they would buy. The manifests go to
standard output; what they do not say, and the plan, go to standard error. Nothing is changed and nothing is bought: Azure is not asked, and a
cluster is only read.

Agent pools are in what az prints as JSON, which -f takes as it is; az aks show has the autoscaler's profile, too. Without -f they are taken from
the nodes, which do not show limits, disks, kubelet settings and tags. System pools and Windows stay agent pools.

A DUMP (or with --live the cluster of the kubeconfig) brings the pods: they are planned for as if the nodes of the agent pools were gone, by the
engine of simulate.`,
		Example: `  az aks show -g rg -n shop -o json > aks.json
  karpenter migrate -f aks.json > pools.yaml              # the manifests, and notes on what they do not say
  karpenter migrate -f aks.json --live -o text            # what they would buy for the cluster's pods
  karpenter migrate -f aks.json dump.yaml -o text         # the same for a dump
  karpenter migrate dump.yaml                             # agent pools as nodes show them
  kubectl -n kube-system get configmap cluster-autoscaler-priority-expander -o json > priorities.json
  karpenter migrate -f aks.json -f priorities.json        # weights from the autoscaler's priorities`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	fl := cmd.Flags()
	fl.StringArrayVarP(&f.files, "filename", "f", nil, `what az aks show or az aks nodepool list printed as JSON, or the ConfigMap of the expander's priorities; "-" is standard input`)
	fl.BoolVar(&f.sameSize, "same-size", false, "keep the size of every agent pool, instead of its family")
	fl.StringVar(&f.location, "location", "", "take sizes and prices of this Azure region from the built-in table (default: the region of the cluster)")
	f.live.register(cmd)
	fl.StringVarP(&f.output, "output", "o", "yaml", "yaml (the manifests), text (what becomes of what, notes and the plan) or json (all of it)")
	f.networkPlugin, f.networkMode, f.memoryOverhead = "azure", "overlay", 0.075
	return cmd
}

// migration is everything that is told.
type migration struct {
	cluster migrate.Cluster
	result  migrate.Result
	today   migrate.Bill
	// plan is what would be bought for the pods; nil when none are known.
	plan *simulate.Answer
	held []model.PodKey
}

func (f *migrateFlags) run(cmd *cobra.Command, args []string) error {
	if err := oneOfFlag("output", f.output, "yaml", "text", "json"); err != nil {
		return err
	}
	f.progress = newProgress(cmd.ErrOrStderr())
	defer f.progress.end()
	m, err := f.migrate(cmd, args)
	if err != nil {
		return err
	}
	out, told := cmd.OutOrStdout(), m.text()
	switch f.output {
	case "text":
		_, err = io.WriteString(out, told)
	case "json":
		err = m.json(out)
	default:
		f.progress.end()
		if _, err = io.WriteString(cmd.ErrOrStderr(), told); err == nil {
			_, err = out.Write(m.result.Text)
		}
	}
	return err
}

func (f *migrateFlags) migrate(cmd *cobra.Command, args []string) (*migration, error) {
	ctx, stdin := cmd.Context(), cmd.InOrStdin()
	answers, err := f.answers(stdin)
	if err != nil {
		return nil, err
	}
	if len(answers)+len(args) == 0 && !f.live.also {
		return nil, errors.New("nothing to read: give what az aks show -o json prints with -f, a dump, or --live for the cluster of the kubeconfig")
	}
	var o simulate.Options
	var q simulate.Question
	pods := len(args) > 0 || f.live.also
	if pods {
		f.progress.say("reading what is there")
		if o, err = f.options(ctx, stdin, args); err != nil {
			return nil, err
		}
		o.Partial = true // its pools are no matter here
		if q, err = f.read(ctx, o); err != nil {
			return nil, err
		}
		o.Partial = false
	}
	m := &migration{}
	if m.cluster, err = migrate.Read(answers, q.World.Nodes); err != nil {
		return nil, err
	}
	if f.location != "" {
		m.cluster.Location = f.location
	}
	catalog, err := f.sold(ctx, m.cluster.Location)
	if err != nil {
		return nil, err
	}
	m.result = m.cluster.Write(migrate.Options{Catalog: catalog, SameSize: f.sameSize})
	m.today = m.result.Bill(q.World.Nodes, catalog)
	if err := refused(m.result.Text); err != nil {
		return nil, err
	}
	if !pods || len(m.result.Made) == 0 {
		return m, nil
	}
	return m, f.plan(ctx, m, o)
}

// plan asks what would be bought for the pods of the agent pools' nodes.
func (f *migrateFlags) plan(ctx context.Context, m *migration, o simulate.Options) error {
	o.Files = append(o.Files, simulate.File{Name: "migrated.yaml", Text: m.result.Text})
	if o.Location == "" {
		o.Location = m.cluster.Location
	}
	q, err := f.read(ctx, o)
	if err != nil {
		return err
	}
	q.World, m.held = m.result.Moved(q.World)
	f.progress.say("planning for the pods of %d machines", m.today.Machines)
	a, err := simulate.Decide(q)
	m.plan = &a
	return err
}

// sold is what the region sells to whoever installs drivers himself, which is most.
func (f *migrateFlags) sold(ctx context.Context, location string) (model.Catalog, error) {
	regions, err := offlineRegions()
	if err != nil {
		return model.Catalog{}, err
	}
	if err := oneOfFlag("location", location, regions...); err != nil {
		if location == "" {
			err = errors.New("nobody says in which region the cluster is: give --location, or what az aks show -o json prints with -f")
		}
		return model.Catalog{}, err
	}
	azure, err := f.offline(simulate.Site{Location: location})
	if err != nil {
		return model.Catalog{}, err
	}
	defer azure.Close()
	return azure.Offerings(ctx, model.Class{Azure: &model.AzureClass{ImageFamily: "Ubuntu", OSDiskSizeGB: 128, GPUMode: "None"}})
}

func (f *migrateFlags) answers(stdin io.Reader) ([]migrate.Answer, error) {
	var out []migrate.Answer
	var errs []error
	for _, name := range f.files {
		in, err := readInput(stdin, name, maxAnswer)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		a := migrate.Answer{Name: in.Name}
		if err := json.Unmarshal(in.Text, &a.Data); err != nil {
			errs = append(errs, fmt.Errorf("%s is not JSON, as az prints it with -o json: %w", in.Name, err))
		}
		out = append(out, a)
	}
	return out, errors.Join(errs...)
}

// refused says what an API server would not take of the manifests: Azure may have a setting that the CRDs do not.
func refused(text []byte) error {
	var server admit.Server
	var errs []error
	for _, d := range manifest.Documents(text) {
		body, _ := d.Body()
		object, err := yaml.YAMLToJSON(body)
		if err != nil {
			return err
		}
		created, faults, _, err := server.Create(object)
		if err != nil {
			return err
		}
		for _, x := range faults {
			name, _ := created["metadata"].(map[string]any)["name"].(string)
			errs = append(errs, fmt.Errorf("%v %s: %s", created["kind"], name, x))
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("an agent pool says what no NodePool or AKSNodeClass may say; correct it in the file and ask again:\n%w", errors.Join(errs...))
	}
	return nil
}

// text is what a person reads: what becomes of what, what is not said, and the plan.
func (m *migration) text() string {
	var b strings.Builder
	rows := [][]string{{"agent pool", "becomes", "machines today"}}
	for _, p := range m.result.Made {
		var sizes []string
		for _, s := range p.Sizes {
			sizes = append(sizes, fmt.Sprintf("%d × %s", s.Count, s.Name))
		}
		rows = append(rows, []string{p.Name, "NodePool and AKSNodeClass " + p.Name, strings.Join(sizes, ", ")})
	}
	for _, k := range m.result.Kept {
		rows = append(rows, []string{k.Name, "stays an agent pool: " + k.Why, ""})
	}
	b.WriteString(simulate.Aligned(rows))
	if m.cluster.FromNodes {
		b.WriteString("note: agent pools are as their nodes show them: limits, disks, kubelet settings, tags and the autoscaler's profile are in what az prints (-f)\n")
	}
	for _, n := range m.result.Notes {
		fmt.Fprintln(&b, "note:", n)
	}
	m.compare(&b)
	return b.String()
}

// compare prints what the machines cost that go, and those that come, and the plan.
func (m *migration) compare(b *strings.Builder) {
	if len(m.result.Made) == 0 {
		return
	}
	fmt.Fprintf(b, "\ntoday  %s, %s, $%.2f a month", model.Count(m.today.Machines, "machine"), m.today.Price, m.today.Price.Month())
	if len(m.today.Unpriced) > 0 {
		fmt.Fprintf(b, ", without %s, whose price is not known", strings.Join(m.today.Unpriced, ", "))
	}
	b.WriteByte('\n')
	if m.plan == nil {
		b.WriteString("after  what the pods need: give a dump, or --live for the cluster of the kubeconfig\n")
		return
	}
	after := m.plan.InShort("")
	fmt.Fprintf(b, "after  %s, %s, $%.2f a month", model.Count(after.Machines, "machine"), after.Price, after.Price.Month())
	if m.today.Price > 0 {
		fmt.Fprintf(b, " (%+.1f %%)", 100*(after.Price.Float()/m.today.Price.Float()-1))
	}
	if after.Unscheduled > 0 {
		fmt.Fprintf(b, "; %s would have no place", model.Count(after.Unscheduled, "pod"))
	}
	b.WriteString("\n\n" + m.plan.Text(false))
	if len(m.held) > 0 {
		fmt.Fprintf(b, "note: marked karpenter.sh/do-not-disrupt, so that drains wait for them: %s, the first is %s\n", model.Count(len(m.held), "pod"), m.held[0])
	}
}

// json is all of it for programs. Prices are dollars per hour.
func (m *migration) json(w io.Writer) error {
	var objects []json.RawMessage
	for _, d := range manifest.Documents(m.result.Text) {
		body, _ := d.Body()
		object, err := yaml.YAMLToJSON(body)
		if err != nil {
			return err
		}
		objects = append(objects, object)
	}
	type bill struct {
		migrate.Bill
		Price float64 `json:"pricePerHour"`
	}
	out := struct {
		Objects []json.RawMessage `json:"objects"`
		Made    []migrate.Made    `json:"made"`
		Kept    []migrate.Kept    `json:"kept"`
		Notes   []migrate.Note    `json:"notes"`
		Today   bill              `json:"today"`
		After   *bill             `json:"after,omitempty"`
		Plan    json.RawMessage   `json:"plan,omitempty"`
	}{objects, m.result.Made, m.result.Kept, m.result.Notes, bill{m.today, m.today.Price.Float()}, nil, nil}
	if m.plan != nil {
		short := m.plan.InShort("")
		out.After = &bill{migrate.Bill{Machines: int64(short.Machines)}, short.Price.Float()}
		raw, err := m.plan.JSON()
		if err != nil {
			return err
		}
		out.Plan = bytes.TrimSpace(raw)
	}
	return writeValue(w, "json", out)
}
