package main

import (
	"context"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/karpenter-aks/karpenter/internal/config"
	"github.com/karpenter-aks/karpenter/internal/doctor"
	"github.com/karpenter-aks/karpenter/internal/kube/survey"
	"github.com/karpenter-aks/karpenter/internal/values"
)

// leaseName is the one that the chart's role allows.
const leaseName = "karpenter-leader-election"

// examineCluster asks the cluster all that the facts want to know. The error says that it stopped answering.
func examineCluster(ctx context.Context, c *survey.Cluster, seen survey.Shown, t told, cfg config.Config, facts *doctor.Facts) error {
	out := &facts.Cluster
	out.Hidden, out.Issuer = seen.Hidden, seen.Issuer
	for _, n := range seen.Nodes {
		m := doctor.Node{Name: n.Name, Region: n.Labels["topology.kubernetes.io/region"], Subnet: n.Labels["kubernetes.azure.com/network-subnet"],
			Ready: n.Ready, Ours: n.Labels["karpenter.sh/nodepool"] != ""}
		m.Subscription, m.Group = values.MachineOf(n.ProviderID)
		out.Nodes = append(out.Nodes, m)
	}
	var err error
	if out.Version, err = c.Version(); err != nil {
		return err
	}
	at, _, err := c.Clock(ctx)
	if err != nil {
		return err
	}
	out.Clock = doctor.Clock{At: at, Here: time.Now()}
	if err := examineIdentity(ctx, c, t, out); err != nil {
		return err
	}
	if err := examineRights(ctx, c, t, cfg, out); err != nil {
		return err
	}
	return examineDefinitions(ctx, c, out)
}

func examineIdentity(ctx context.Context, c *survey.Cluster, t told, out *doctor.Cluster) error {
	there, clientID, ok, err := c.Account(ctx, t.namespace, t.account)
	if err != nil {
		return err
	}
	out.Installed, out.AccountClientID = there || t.inside, clientID
	if !ok {
		out.AccountClientID = t.env["AZURE_CLIENT_ID"] // nobody says otherwise
		if !t.inside {
			out.Hidden = append(out.Hidden, "service account "+t.namespace+"/"+t.account)
		}
	}
	out.Webhook, ok, err = c.Webhook(ctx)
	if err != nil {
		return err
	}
	if !ok { // a pod that has a token got it from the webhook
		out.Webhook = true
		if !t.inside {
			out.Hidden = append(out.Hidden, "the webhook of workload identity")
		}
	}
	out.Renewed, ok, err = c.Renewed(ctx, t.namespace, leaseName)
	if !ok && err == nil {
		out.Hidden = append(out.Hidden, "the lease "+t.namespace+"/"+leaseName)
		out.Renewed = out.Clock.At
	}
	return err
}

func examineRights(ctx context.Context, c *survey.Cluster, t told, cfg config.Config, out *doctor.Cluster) error {
	controller := survey.ServiceAccount(t.namespace, t.account)
	if t.inside {
		controller = survey.Subject{}
	}
	gates := doctor.Gates{NominatedNodes: cfg.Gates["NominatedNodes"], SecureMetrics: cfg.Metrics.Secure}
	for _, q := range []struct {
		who  survey.Subject
		want []doctor.Access
		into *[]doctor.Access
		ask  bool
	}{
		{controller, doctor.Needs(t.namespace, gates), &out.Access, out.Installed},
		{survey.Subject{}, doctor.InstallerNeeds(t.namespace), &out.Installer, !out.Installed},
		{survey.BootstrapToken(cfg.Cluster.TokenGroups), doctor.TokenNeeds(), &out.Tokens, true},
	} {
		if !q.ask {
			continue
		}
		var questions []survey.Question
		for _, w := range q.want {
			questions = append(questions, survey.Question{Verb: w.Verb, Group: w.Group, Resource: w.Resource, Namespace: w.Namespace, Name: w.Name})
		}
		may, ok, err := c.May(ctx, q.who, questions)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		for i := range q.want {
			q.want[i].Allowed = may[i]
		}
		*q.into = q.want
	}
	return nil
}

func examineDefinitions(ctx context.Context, c *survey.Cluster, out *doctor.Cluster) error {
	client, err := c.Resource(crdResource())
	if err != nil {
		return err
	}
	have, err := liveDefinitions(ctx, client)
	if apierrors.IsForbidden(err) {
		out.Hidden = append(out.Hidden, "the custom resource definitions")
		return nil
	}
	if err != nil {
		return err
	}
	reports, err := crdReports(have)
	if err != nil {
		return err
	}
	for _, r := range reports {
		d := doctor.Definition{Name: r.Name, Present: r.Present}
		for _, x := range r.Changes {
			if x.Severe() {
				d.Severe = append(d.Severe, x.String())
			} else {
				d.Others++
			}
		}
		out.Definitions = append(out.Definitions, d)
	}
	slices.SortFunc(out.Definitions, func(a, b doctor.Definition) int { return strings.Compare(a.Name, b.Name) })
	return nil
}
