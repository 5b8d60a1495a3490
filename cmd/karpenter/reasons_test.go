package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/karpenter-aks/karpenter/model"
)

// untold are the reasons of which no picture can be asked, and where they are said instead. Those of a NodeClaim's next step are not in
// it: explain says of a NodeClaim on its way what its conditions say.
func untold() map[model.Why]string {
	const drain = "of pods on a node that is drained; its scenarios are in internal/drain"
	const undone = "of a move that is undone; its scenarios are in internal/disrupt"
	return map[model.Why]string{
		model.WhyAudit:           "a defect of ours: nothing is said of the pod, the command fails",
		model.WhyPanic:           "a defect of ours: nothing is said of the pod, the command fails",
		model.WhyPlanCut:         "takes a world of many thousand pods; its scenarios are in internal/place",
		model.WhyBadSelector:     "a file with one is refused, as an API server refuses it",
		model.WhyGrace:           drain,
		model.WhyEarlierGroup:    drain,
		model.WhyGraceOver:       drain,
		model.WhyReplacing:       "takes a move that is under way, which scenarios do not have; its scenarios are in internal/disrupt",
		model.WhyRepairBlocked:   "takes conditions of nodes, which scenarios do not have; its scenarios are in internal/disrupt",
		model.WhyHeldBack:        "the controller's memory, which is in no picture",
		model.WhyUncertainHome:   "its scenarios are in internal/disrupt",
		model.WhyOtherMovesFirst: "takes moves that are decided in the same round, of several pools",
		model.WhyReplacementLost: undone,
		model.WhyMoveHalfBegun:   undone,
		model.WhyMoveOutdated:    undone,
	}
}

// TestEveryReasonIsExplained asks, for each reason of a pod that is left over and of a node that stays or leaves, the scenario of its
// name in testdata/reasons (with -rewrite, answers are written anew): the answer names the object, the reason and its remedy, and of pods how many offerings it took.
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
		d.Fatalf(t, "want explain KIND NAME [at=TIME]")
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
	var stdout, stderr bytes.Buffer
	if code := run(args, &stdout, &stderr); code != 0 {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
	out := stdout.String()
	want := []string{d.CmdArgs[1].Key}
	if d.CmdArgs[0].Key == "pod" {
		want = append(want, string(why)+": ", "it is left over")
		if why.Remedy() != "" {
			want = append(want, fmt.Sprintf("  about %s: %s\n", why, why.Remedy()))
		}
	} else if strings.Contains(out, "  stays ") {
		want = append(want, "  stays     "+string(why))
		if why.Remedy() != "" {
			want = append(want, "  to change "+why.Remedy()+"\n")
		}
	} else {
		want = append(want, "  leaves    "+string(why), "saves $")
	}
	for _, s := range want {
		if !strings.Contains(out, s) {
			t.Errorf("the answer lacks %q:\n%s", s, out)
		}
	}
	return out
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// explainable are the reasons of the closed list, but for those of a NodeClaim's next step.
func explainable(t *testing.T) (out []model.Why) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "../../model/why.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		block, ok := d.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST || strings.HasPrefix(block.Doc.Text(), "Why a claim takes its next step") {
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
	if len(out) < 40 {
		t.Fatalf("only %d reasons were found", len(out))
	}
	return out
}
