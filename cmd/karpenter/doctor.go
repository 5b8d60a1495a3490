package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-aks/karpenter/cloud/azure"
	"github.com/karpenter-aks/karpenter/deploy"
	"github.com/karpenter-aks/karpenter/internal/config"
	"github.com/karpenter-aks/karpenter/internal/doctor"
	"github.com/karpenter-aks/karpenter/internal/kube/survey"
	"github.com/karpenter-aks/karpenter/internal/values"
)

// lookWithin bounds a whole examination.
const lookWithin = 5 * time.Minute

type doctorFlags struct {
	clusterFlags
	values, namespace, account, output string
	colour                             colourFlag
}

func doctorCommand() *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor [--values FILE]",
		Short: "Look whether Karpenter can work here, before and after an installation",
		Long: `Look whether Karpenter can work here, before and after an installation: its settings, definitions and rights in the cluster, its identity and
roles in Azure, the subnet, quota, images, prices and clocks. Nothing is changed. Each finding says what to do about it.

With --values it looks at what a values file would install. Without, in the controller's pod, at what this controller is told, as its own
identity; elsewhere at the Karpenter that is installed. Outside the pod Azure is asked as whoever az is logged in as, who should be a Reader.

The exit code is 0 when all is well, 1 when something stops Karpenter, 2 when nothing that was seen does but a part could not be looked at.`,
		Example: `  karpenter doctor --values values.yaml
  karpenter doctor
  kubectl -n kube-system exec deploy/karpenter -- /karpenter doctor -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOfFlag("output", f.output, "text", "json"); err != nil {
				return exit{2, err}
			}
			if err := f.colour.check(); err != nil {
				return exit{2, err}
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), lookWithin)
			defer cancel()
			facts, err := f.look(ctx, cmd.InOrStdin())
			if err != nil {
				return exit{2, err}
			}
			found := doctor.Examine(facts)
			if err := printFindings(cmd.OutOrStdout(), found, f.output, &f.colour); err != nil {
				return exit{2, err}
			}
			if code := doctor.Code(found); code != 0 {
				return exit{code: code}
			}
			return nil
		},
	}
	f.register(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.values, "values", "", "a values file of the chart, such as install-values makes")
	fl.StringVarP(&f.namespace, "namespace", "n", "", "the controller's namespace (default: where one is installed, else kube-system)")
	fl.StringVar(&f.account, "service-account", "", "the controller's service account (default: that of the installed one, of the values, else karpenter)")
	fl.StringVarP(&f.output, "output", "o", "text", "text or json")
	f.colour.register(cmd)
	return cmd
}

func printFindings(w io.Writer, found []doctor.Finding, output string, colour *colourFlag) error {
	if output == "json" {
		return writeValue(w, output, found)
	}
	_, err := io.WriteString(w, doctor.Text(found, colour.of(w)))
	return err
}

// told is what the controller is or would be told, and who it is.
type told struct {
	from               string
	env                map[string]string
	namespace, account string
	// inside says that this process stands where the controller does: it has its environment and its identity.
	inside bool
}

func (f *doctorFlags) look(ctx context.Context, stdin io.Reader) (doctor.Facts, error) {
	facts := doctor.Facts{Now: time.Now()}
	c, seen, err := f.see(ctx)
	if err != nil {
		facts.Cluster.Unreached = err.Error()
		if f.values == "" && os.Getenv("CLUSTER_NAME") == "" {
			return facts, fmt.Errorf("%w; or look at a values file with --values", err)
		}
	}
	t, err := f.told(ctx, stdin, c, seen)
	if err != nil {
		return facts, err
	}
	cfg, ok := settings(&facts.Settings, t)
	if c != nil && facts.Cluster.Unreached == "" {
		if err := examineCluster(ctx, c, seen, t, cfg, &facts); err != nil {
			facts.Cluster = doctor.Cluster{Unreached: err.Error()}
		}
	}
	if !ok {
		facts.Azure.Unreached = "the settings do not say enough to ask"
		return facts, nil
	}
	facts.Azure = azure.Survey(ctx, surveyConfig(cfg, t))
	needs, err := azureNeeds(cfg)
	facts.Azure.Needs = needs
	return facts, err
}

// see connects to the cluster and looks around.
func (f *doctorFlags) see(ctx context.Context) (*survey.Cluster, survey.Shown, error) {
	rc, err := f.rest()
	if err != nil {
		return nil, survey.Shown{}, err
	}
	c, err := survey.New(rc)
	if err != nil {
		return nil, survey.Shown{}, err
	}
	seen, err := c.Look(ctx)
	return c, seen, err
}

func (f *doctorFlags) told(ctx context.Context, stdin io.Reader, c *survey.Cluster, seen survey.Shown) (told, error) {
	t := told{env: map[string]string{}, namespace: f.namespace, account: f.account}
	switch {
	case f.values != "":
		if err := f.fromValues(stdin, &t); err != nil {
			return t, err
		}
	case os.Getenv("CLUSTER_NAME") != "":
		t.from, t.inside = "the environment", true
		for _, kv := range os.Environ() {
			k, v, _ := strings.Cut(kv, "=")
			t.env[k] = v
		}
		if c != nil {
			parts := strings.Split(c.Self(ctx), ":")
			if len(parts) == 4 && parts[1] == "serviceaccount" {
				t.namespace, t.account = parts[2], parts[3]
			}
		}
	default:
		if err := f.fromInstalled(seen, &t); err != nil {
			return t, err
		}
	}
	if t.namespace == "" {
		t.namespace = "kube-system"
	}
	if t.account == "" {
		t.account = "karpenter"
	}
	return t, nil
}

func (f *doctorFlags) fromValues(stdin io.Reader, t *told) error {
	in, err := readInput(stdin, f.values, maxAnswer)
	if err != nil {
		return err
	}
	var file map[string]any
	if err := yaml.Unmarshal(in.Text, &file); err != nil {
		return fmt.Errorf("%s: %w", in.Name, err)
	}
	env, err := values.Env(file)
	if err != nil {
		return fmt.Errorf("%s: %w", in.Name, err)
	}
	t.from = in.Name
	maps.Copy(t.env, env)
	if name := values.AccountOf(file); t.account == "" {
		t.account = name
	}
	return nil
}

func (f *doctorFlags) fromInstalled(seen survey.Shown, t *told) error {
	var all []survey.Karpenter
	for _, k := range seen.Karpenters {
		if f.namespace == "" || f.namespace == k.Namespace {
			all = append(all, k)
		}
	}
	if len(all) != 1 {
		return fmt.Errorf("%d Karpenters are installed there: name a values file (--values) or a namespace (-n); karpenter install-values makes a values file", len(all))
	}
	k := all[0]
	t.from = "the installed " + k.Namespace + "/" + k.Name
	t.namespace = k.Namespace
	maps.Copy(t.env, k.Env)
	if t.account == "" {
		t.account = k.Account
	}
	if t.env["AZURE_CLIENT_ID"] == "" {
		t.env["AZURE_CLIENT_ID"] = k.ClientID
	}
	return nil
}

// ours are names of our own environment that say where Azure is, whoever asks.
func ours(name string) bool {
	switch name {
	case "ARM_CLOUD", "AZURE_ENVIRONMENT_FILEPATH", "AZURE_AUTHORITY_HOST":
		return true
	}
	return false
}

// settings reads what the controller is told as the controller would. ok is false when it would not start; what it was told is noted all the same.
func settings(s *doctor.Settings, t told) (config.Config, bool) {
	*s = doctor.Settings{From: t.from, Namespace: t.namespace, Account: t.account, Endpoint: t.env["CLUSTER_ENDPOINT"],
		SubscriptionID: t.env["AZURE_SUBSCRIPTION_ID"], ClientID: t.env["AZURE_CLIENT_ID"], Location: t.env["LOCATION"],
		NodeGroup: t.env["AZURE_NODE_RESOURCE_GROUP"], SubnetID: t.env["VNET_SUBNET_ID"]}
	cfg, err := config.Parse(nil, func(name string) (string, bool) {
		if v, there := t.env[name]; there {
			return v, true
		}
		if ours(name) {
			return os.LookupEnv(name)
		}
		return "", false
	})
	var bad *config.Invalid
	if errors.As(err, &bad) {
		for _, p := range bad.Problems {
			s.Problems = append(s.Problems, p.String())
		}
		return cfg, false
	}
	if err != nil {
		s.Problems = []string{err.Error()}
		return cfg, false
	}
	s.SubscriptionID = cfg.Azure.SubscriptionID
	s.Overlay, s.TokenGroups = cfg.Azure.NetworkPluginMode == "overlay" || cfg.Azure.NetworkPlugin == "none", cfg.Cluster.TokenGroups
	return cfg, true
}

// surveyConfig asks Azure as the controller where this is its place, else as the person.
func surveyConfig(cfg config.Config, t told) azure.Config {
	out := azureConfig(cfg, logr.Discard())
	out.ClusterResourceGroup = cfg.Azure.ResourceGroup
	if !t.inside {
		out.FederatedTokenFile = ""
	}
	return out
}

// azureNeeds are the roles that the project ships, at the scopes where docs/azure-roles.md assigns them.
func azureNeeds(cfg config.Config) ([]doctor.Grant, error) {
	sub := "/subscriptions/" + cfg.Azure.SubscriptionID
	var out []doctor.Grant
	for _, r := range []struct{ file, scope string }{
		{"node-group.json", sub + "/resourceGroups/" + cfg.Azure.NodeResourceGroup},
		{"subscription.json", sub}, {"shared.json", network(cfg.Azure.SubnetID)},
	} {
		raw, err := deploy.Roles.ReadFile("azure/" + r.file)
		if err != nil {
			return nil, err
		}
		var role struct {
			Name    string
			Actions []string
		}
		if err := json.Unmarshal(raw, &role); err != nil {
			return nil, fmt.Errorf("role %s: %w", r.file, err)
		}
		if r.file == "shared.json" && cfg.Azure.DiskEncryptionSetID == "" {
			role.Actions = without(role.Actions, "Microsoft.Compute/diskEncryptionSets/read")
		}
		out = append(out, doctor.Grant{Role: role.Name, Scope: r.scope, Actions: role.Actions})
	}
	return out, nil
}

func without(all []string, one string) []string {
	var out []string
	for _, x := range all {
		if x != one {
			out = append(out, x)
		}
	}
	return out
}

// subnetPart is what follows a network's id in the id of its subnet.
var subnetPart = regexp.MustCompile(`(?i)/subnets/[^/]+$`)

func network(subnet string) string { return subnetPart.ReplaceAllString(subnet, "") }
