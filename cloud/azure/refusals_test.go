package azure_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/cloud/market"
	"github.com/karpenter-aks/karpenter/lab/arm"
	"github.com/karpenter-aks/karpenter/model"
)

// options are the on-demand offerings of a few sizes in every zone, and spot of the first, in a fixed order.
func (s *site) options(t *testing.T) []market.Option {
	t.Helper()
	c, err := s.fleet.Offerings(t.Context(), s.class)
	if err != nil {
		t.Fatal(err)
	}
	var out []market.Option
	for _, name := range []string{testSize, "Standard_E2s_v5", "Standard_F2s_v2", "Standard_D4s_v5", "Standard_E4s_v5"} {
		typ, ok := c.Type(name)
		if !ok {
			t.Fatalf("no %s", name)
		}
		for _, o := range typ.Offerings {
			if o.Zone != "0" && (o.CapacityType == model.OnDemand || name == testSize) {
				out = append(out, market.Option{Type: typ, Offering: o})
			}
		}
	}
	return out
}

func (s *site) request(t *testing.T, claim string) market.Request {
	return market.Request{Order: s.order(t, claim), Options: s.options(t)}
}

// unlisted are refusals that Azure gives and of which our table knows nothing, or nothing but their words.
func unlisted() []arm.Failure {
	return []arm.Failure{
		{Code: "InvalidAvailabilityZone", Status: 400, Message: "The zone(s) '1' for resource 'Microsoft.Compute/virtualMachines/aks-a' is not supported."},
		{Code: "NotSupported", Status: 409, Message: "The requested operation is not supported."},
		{Code: "BadRequest", Status: 400, Message: "The selected VM size 'Standard_D2s_v5' cannot boot Hypervisor Generation '2'."},
		{Code: "InvalidParameter", Status: 400, Message: "The VM size 'Standard_D2s_v5' cannot boot with the disk controller type 'SCSI'."},
		{Code: "OperationNotAllowed", Status: 409, Message: "Azure Spot Virtual Machine is not supported for this VM size."},
		{Code: "ResourceQuotaExceeded", Status: 400, Message: "The resource quota was exceeded."},
		{Code: "PublicIPCountLimitReached", Status: 400, Message: "Cannot create more than 1000 public IP addresses for this subscription in this region."},
		{Code: "VMSizeDoesNotSupportPremiumStorage", Status: 409, Message: "The size does not take premium disks."},
		{Code: "PropertyChangeNotAllowed", Status: 409, Message: "Changing property 'zones' is not allowed."},
		{Code: "Conflict", Status: 409, Message: "A conflict."},
		{Code: "ConflictingUserInput", Status: 409, Message: "Disk aks-a already exists."},
		{Code: "OperationNotAllowed", Status: 409, Message: "Operation is not allowed just because."},
		{Code: "RequestDisallowedByPolicy", Status: 403, Message: "Resource 'aks-a' was disallowed by policy 'Allowed virtual machine size SKUs'."},
		{Code: "ReferencedResourceNotProvisioned", Status: 409, Message: "Cannot proceed, a referenced resource is not in Succeeded state."},
		{Code: "CapacityReservationExhausted", Status: 409, Message: "There is no room in the group."},
		{Code: "TrustedLaunchNotSupported", Status: 400, Message: "Trusted launch is not available for the size."},
		{Code: "UltraSSDNotAvailableInZone", Status: 400, Message: "Ultra disks are not available."},
		{Code: "EncryptionAtHostNotSupported", Status: 400, Message: "The size cannot encrypt at host."},
		{Code: "AcceleratedNetworkingNotSupported", Status: 400, Message: "No accelerated networking."},
		{Code: "NotYetImagined", Status: 422, Message: ""},
		{Code: "PaymentWanted", Status: 402, Message: "Pay."},
		{Code: "ResourceIsBusy", Status: 423, Message: "Locked for a moment."},
		{Code: "SomethingMissing", Status: 404, Message: "There is no such thing."},
		{Code: "PreconditionFailed", Status: 412, Message: "It was there a moment ago."},
		{Code: "AllocationFailed", Status: 409, Message: "Allocation failed. We do not have sufficient capacity."},
		{Code: "ZonalAllocationFailed", Status: 409, Message: "Allocation failed in the zone."},
		{Code: "OverconstrainedAllocationRequest", Status: 409, Message: "Too many constraints."},
		{Code: "SkuNotAvailable", Status: 409, Message: "The requested size is not available."},
	}
}

// A refusal is not a doubt: the next offering is bought in the same pass, and what was refused stays closed for a while.
func TestWhateverIsRefusedTheNextIsBoughtAtOnce(t *testing.T) {
	s := newSite(t, arm.Knobs{})
	for n, f := range unlisted() {
		t.Run(fmt.Sprintf("%s %d", f.Code, n), func(t *testing.T) {
			m := market.New(s.fleet, market.Config{})
			f.Count = 1
			s.turn(t, func(k *arm.Knobs) { k.Failures = []arm.Failure{f} })
			i, tried, err := m.Launch(t.Context(), s.request(t, fmt.Sprint("c", n)), s.clock.Now())
			if err != nil || len(tried) != 2 || tried[0].Err == nil || tried[1].Offering == tried[0].Offering || i.Offering != tried[1].Offering {
				t.Fatalf("got %s, %v after %v", i.Offering, err, tried)
			}
			_, tried, err = m.Launch(t.Context(), s.request(t, fmt.Sprint("d", n)), s.clock.Now().Add(time.Minute))
			if err != nil || len(tried) != 1 || tried[0].Offering != i.Offering {
				t.Errorf("a minute later: %v after %v", err, tried)
			}
		})
	}
}

// What concerns whatever is ordered for the class is asked once, and then not again for a while; another class is not its affair.
func TestWhatIsWrongWithTheClassIsNotAskedOfferingByOffering(t *testing.T) {
	s := newSite(t, arm.Knobs{})
	for n, c := range []struct {
		code   string
		status int
		want   cloud.Code
	}{
		{"SubnetIsFull", 400, cloud.NoCapacity}, // the words are Quota's; no offering is left
		{"DiskEncryptionSetNotFound", 404, cloud.Invalid},
		{"LinkedInvalidPropertyId", 400, cloud.Invalid},
		{"LinkedAuthorizationFailed", 403, cloud.Denied},
		{"FailedIdentityOperation", 400, cloud.Denied},
		{"ResourceGroupNotFound", 404, cloud.Invalid},
		{"UnheardOf", 401, cloud.Denied},
		{"UnheardOf", 403, cloud.Denied},
	} {
		t.Run(fmt.Sprintf("%s %d", c.code, c.status), func(t *testing.T) {
			m := market.New(s.fleet, market.Config{})
			s.turn(t, func(k *arm.Knobs) {
				k.Failures = []arm.Failure{{Code: c.code, Status: c.status, Count: 1, Message: "the words of the cloud"}}
			})
			_, tried, err := m.Launch(t.Context(), s.request(t, fmt.Sprint("c", n)), s.clock.Now())
			if cloud.CodeOf(err) != c.want || len(tried) != 1 {
				t.Fatalf("%v after %v, want %s after one", err, tried, c.want)
			}
			_, tried, err = m.Launch(t.Context(), s.request(t, fmt.Sprint("d", n)), s.clock.Now().Add(30*time.Second))
			if cloud.CodeOf(err) != cloud.NoCapacity || len(tried) != 0 || !strings.Contains(err.Error(), "the words of the cloud") {
				t.Errorf("half a minute later: %v after %v, want it closed, with the cloud's words", err, tried)
			}
			other := s.request(t, fmt.Sprint("e", n))
			other.Order.Class.Generation++
			if _, _, err := m.Launch(t.Context(), other, s.clock.Now().Add(30*time.Second)); err != nil {
				t.Errorf("the class was changed: %v", err)
			}
		})
	}
}

// Any code with any status: a 4xx never leaves a doubt, and after every answer there is either another attempt at once, or a reason not
// to try that holds for a while. Only 408, 425, 429 and 5xx may be asked again as they are.
func TestNoRefusalPinsAnOffering(t *testing.T) {
	s := newSite(t, arm.Knobs{})
	options, n := s.options(t), 0
	order := s.order(t, "p")
	rapid.Check(t, func(r *rapid.T) {
		f := arm.Failure{Count: 1,
			Code:    rapid.OneOf(rapid.StringMatching(`[A-Z][a-z]{2,8}[A-Z][a-z]{2,8}`), rapid.SampledFrom(unlistedCodes())).Draw(r, "code"),
			Status:  rapid.IntRange(400, 499).Filter(func(n int) bool { return n != 408 && n != 425 && n != 429 }).Draw(r, "status"),
			Message: rapid.StringN(1, 60, 200).Draw(r, "message")}
		s.turn(t, func(k *arm.Knobs) { k.Failures = []arm.Failure{f} })
		n++
		order.Claim, order.ClaimUID = fmt.Sprint("p", n), fmt.Sprint("u", n)
		m := market.New(s.fleet, market.Config{})
		_, tried, err := m.Launch(t.Context(), market.Request{Order: order, Options: options}, s.clock.Now())
		if len(tried) == 0 || tried[0].Err == nil {
			r.Fatalf("not refused: %v, %v", tried, err)
		}
		var e *cloud.Error
		if !errors.As(tried[0].Err, &e) || e.Code == cloud.Unknown {
			r.Fatalf("%s %d is a doubt: %v", f.Code, f.Status, tried[0].Err)
		}
		if e.Code == cloud.Throttled {
			return
		}
		if len(m.Blocked(s.clock.Now())) == 0 {
			r.Fatalf("%s %d (%s) closes nothing: %v", f.Code, f.Status, e.Code, e)
		}
		class := e.Code == cloud.Invalid || e.Code == cloud.Denied || e.More.Scope.All
		if !class && (err != nil || len(tried) != 2 || tried[1].Offering == tried[0].Offering) {
			r.Fatalf("%s %d (%s): %v after %v, want the next at once", f.Code, f.Status, e.Code, err, tried)
		}
	})
}

func unlistedCodes() []string {
	var out []string
	for _, f := range unlisted() {
		out = append(out, f.Code)
	}
	return append(out, http.StatusText(http.StatusConflict), "SubnetIsFull", "AuthorizationFailed", "ResourceNotFound")
}
