package place

import (
	"testing"

	"github.com/karpenter-aks/karpenter/internal/worldtext"
	"github.com/karpenter-aks/karpenter/model"
)

// Three pods find no place in the worst order. One machine has room for them all; pods that refuse each other need one each.
func TestARemedyHasAMachineForEachThatRefusesTheOthers(t *testing.T) {
	for ties, want := range map[string]model.Price{
		"":                      model.Dollars(0.10),
		"apart=host:app=web":    model.Dollars(0.30),
		"spread=host:1:app=web": model.Dollars(0.30),
		"spread=host:3:app=web": model.Dollars(0.10),
	} {
		w, err := worldtext.Parse(`
type D4 cpu=4 memory=16Gi zones=1 price=0.10
pool general
node a pool=general type=D4 zone=1 cpu=4 memory=16Gi initialized
claim ca pool=general node=a is=Launched,Registered,Initialized
node b pool=general type=D4 zone=1 cpu=4 memory=16Gi initialized
claim cb pool=general node=b is=Launched,Registered,Initialized
node c pool=general type=D4 zone=1 cpu=4 memory=16Gi initialized
claim cc pool=general node=c is=Launched,Registered,Initialized
pod web1 cpu=500m node=a label.app=web ` + ties + `
pod web2 cpu=500m node=b label.app=web ` + ties + `
pod web3 cpu=500m node=c label.app=web ` + ties)
		if err != nil {
			t.Fatal(err)
		}
		p := NewWhatIf(Input{World: w})
		var left []crowd
		for _, node := range []string{"a", "b", "c"} {
			for _, st := range p.on[node] {
				left = append(left, p.scatter.crowd(st.g, p.slotOf[node], len(st.pods)))
			}
		}
		if got := p.scatter.remedy(left); got != want || len(left) != 3 {
			t.Errorf("%q: %v for %d, want %v", ties, got, len(left), want)
		}
	}
}
