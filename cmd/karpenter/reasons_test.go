package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/karpenter-aks/karpenter/model"
)

// untold are the reasons that no file can show, and why it cannot.
func untold() map[model.Why]string {
	const cloud = "only the cloud knows: files and clusters do not hold its machines"
	return map[model.Why]string{
		model.WhyAudit:            "a defect of ours: nothing is said of the pod, the command fails",
		model.WhyPanic:            "a defect of ours: nothing is said of the pod, the command fails",
		model.WhyPlanCut:          "takes a world of many thousand pods; its scenarios are in internal/place",
		model.WhyBadSelector:      "a file with one is refused, as an API server refuses it",
		model.WhyUnreadable:       "a file with one is refused, with the value's line",
		model.WhyAwaitingInstance: cloud,
		model.WhyInstanceGone:     cloud,
		model.WhyInstanceStopped:  cloud,
	}
}

// TestEveryReasonIsExplained asks, for each reason of the closed list, the scenario of its name in testdata/reasons (with -rewrite, answers are
// written anew): of a pod that is left over, a node that stays or leaves, a NodeClaim's next step, a pod that holds a node which leaves. The answer names the object,
// the reason and its remedy, and of pods how many offerings it took.
func TestEveryReasonIsExplained(t *testing.T) {
	dir, err := filepath.Abs("testdata/reasons")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]bool{}
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		if name, ok := strings.CutSuffix(f.Name(), ".txt"); ok {
			files[name] = true
		}
	}
	for _, why := range explainable(t) {
		where := untold()[why]
		if where == "" && !files[string(why)] {
			t.Errorf("%s has no scenario in testdata/reasons", why)
		}
		if where != "" && files[string(why)] {
			t.Errorf("%s has a scenario, although it is said to be told elsewhere: %s", why, where)
		}
	}
	t.Chdir(dir)
	for name := range files {
		t.Run(name, func(t *testing.T) {
			datadriven.RunTest(t, name+".txt", func(t *testing.T, d *datadriven.TestData) string {
				return explainedReason(t, d, model.Why(name))
			})
		})
	}
}

func explainedReason(t *testing.T, d *datadriven.TestData, why model.Why) string {
	t.Helper()
	if d.Cmd != "explain" || len(d.CmdArgs) < 2 {
		d.Fatalf(t, "want explain KIND NAME [at=TIME] [repair]")
	}
	args := []string{"explain", d.CmdArgs[0].Key, d.CmdArgs[1].Key, "-f", string(why) + ".txt"}
	if more := string(why) + ".yaml"; exists(more) { // what scenarios have no words for
		args = append(args, "-f", more)
	}
	if d.HasArg("at") {
		var at string
		d.ScanArgs(t, "at", &at)
		args = append(args, "--at", at)
	}
	if d.HasArg("repair") {
		args = append(args, "--feature-gates", "NodeRepair=true")
	}
	var stdout, stderr bytes.Buffer
	if code := run(args, &stdout, &stderr); code != 0 {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
	out := stdout.String()
	want := []string{d.CmdArgs[1].Key}
	remedy := func(label string) {
		if why.Remedy() != "" {
			want = append(want, label+why.Remedy()+"\n")
		}
	}
	switch {
	case d.CmdArgs[0].Key == "pod":
		want = append(want, string(why)+": ", "it is left over")
		remedy("  about " + string(why) + ": ")
	case gives("stays +", why, out):
		remedy("  to change ")
	case gives("leaves +", why, out):
		want = append(want, "saves $")
	case gives("(next|held by) +\\S.*: ", why, out):
		remedy("  to go on  ")
	default:
		t.Errorf("nothing stays, leaves, is next or held for %s:\n%s", why, out)
	}
	for _, s := range want {
		if !strings.Contains(out, s) {
			t.Errorf("the answer lacks %q:\n%s", s, out)
		}
	}
	return out
}

// gives reports whether a line of the answer that begins so gives the reason.
func gives(begins string, why model.Why, answer string) bool {
	return regexp.MustCompile(`(?m)^  ` + begins + string(why) + `([:;].*)?$`).MatchString(answer)
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// explainable are the reasons of the closed list.
func explainable(t *testing.T) (out []model.Why) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "../../model/why.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		block, ok := d.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST {
			continue
		}
		for _, s := range block.Specs {
			text, err := strconv.Unquote(s.(*ast.ValueSpec).Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, model.Why(text))
		}
	}
	if len(out) < 80 {
		t.Fatalf("only %d reasons were found", len(out))
	}
	return out
}
