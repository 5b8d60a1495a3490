package azure

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// meter is one line of Azure's retail price list. Field names: the Retail Prices API's documentation.
type meter struct {
	CurrencyCode         string  `json:"currencyCode"`
	RetailPrice          float64 `json:"retailPrice"`
	ArmRegionName        string  `json:"armRegionName"`
	EffectiveStartDate   string  `json:"effectiveStartDate"`
	MeterID              string  `json:"meterId"`
	MeterName            string  `json:"meterName"`
	ProductName          string  `json:"productName"`
	SkuName              string  `json:"skuName"`
	UnitOfMeasure        string  `json:"unitOfMeasure"`
	Type                 string  `json:"type"`
	IsPrimaryMeterRegion bool    `json:"isPrimaryMeterRegion"`
	ArmSkuName           string  `json:"armSkuName"`
}

// priceBook holds Linux prices per hour in a region.
type priceBook struct{ onDemand, spot map[string]model.Price }

// of is the price of a size; a missing spot price counts as the full price, a missing price as unknownPrice.
func (b priceBook) of(size, capacityType string) model.Price {
	if capacityType == model.Spot {
		if p, ok := b.spot[size]; ok {
			return p
		}
	}
	if p, ok := b.onDemand[size]; ok {
		return p
	}
	return unknownPrice
}

// empty reports whether no price is known at all: the list was never read, or the cloud has none.
func (b priceBook) empty() bool { return len(b.onDemand) == 0 }

// estimate stands in for all prices while no list is known, so that sizes still compare: a core counts 4 cents an hour,
// a GiB half a cent, a GPU a dollar. These are close to Azure's middle of the road and good for nothing but comparing.
func estimate(s SKU) model.Price {
	return model.Price(40_000*s.CPUs+1_000_000*s.GPUs) + model.Price(5_000*s.MemoryGiB)
}

// readPrices makes a price book of meters. Several meters may carry one size's name; the same one wins whatever the
// order in which they come: a primary meter before others, then the latest that is already in force, then the lowest
// meter id.
func readPrices(meters []meter, location string, now time.Time) priceBook {
	book := priceBook{onDemand: map[string]model.Price{}, spot: map[string]model.Price{}}
	best := map[string]meter{}
	for _, m := range meters {
		if !m.counts(location, now) {
			continue
		}
		key := m.ArmSkuName
		if m.spot() {
			key = "spot/" + key
		}
		if old, ok := best[key]; !ok || m.before(old) {
			best[key] = m
		}
	}
	for key, m := range best {
		if name, spot := strings.CutPrefix(key, "spot/"); spot {
			book.spot[name] = dollars(m.RetailPrice)
		} else {
			book.onDemand[name] = dollars(m.RetailPrice)
		}
	}
	return book
}

func (m meter) spot() bool { return strings.HasSuffix(m.SkuName, " Spot") }

// counts drops what is not the hourly Linux price of a virtual machine in force.
func (m meter) counts(location string, now time.Time) bool {
	switch {
	case m.ArmSkuName == "" || !strings.EqualFold(m.ArmRegionName, location) || m.RetailPrice <= 0:
		return false
	case m.CurrencyCode != "" && m.CurrencyCode != "USD", m.Type != "" && m.Type != "Consumption":
		return false
	case m.UnitOfMeasure != "" && m.UnitOfMeasure != "1 Hour":
		return false
	case strings.HasSuffix(m.ProductName, " Windows"), strings.HasSuffix(m.MeterName, " Low Priority"),
		strings.HasSuffix(m.SkuName, " Low Priority"):
		return false
	case strings.Contains(m.ProductName, "Dedicated Host"), strings.Contains(m.ProductName, "Cloud Services"),
		strings.Contains(m.ProductName, "CloudServices"):
		return false
	}
	from, err := time.Parse(time.RFC3339, m.EffectiveStartDate)
	return err != nil || !from.After(now)
}

func (m meter) before(o meter) bool {
	if m.IsPrimaryMeterRegion != o.IsPrimaryMeterRegion {
		return m.IsPrimaryMeterRegion
	}
	return cmp.Or(cmp.Compare(o.EffectiveStartDate, m.EffectiveStartDate), cmp.Compare(m.MeterID, o.MeterID),
		cmp.Compare(m.RetailPrice, o.RetailPrice)) < 0
}

const (
	retailPath      = "/api/retail/prices"
	maxPricePages   = 200      // a large region has about twenty pages of a thousand meters
	maxPricePage    = 16 << 20 // bytes
	pricePageWithin = 20 * time.Second
)

// fetchPrices reads every page of the region's retail prices. endpoint is the list's scheme and host; a path in it
// replaces the public one's.
func fetchPrices(ctx context.Context, client *http.Client, endpoint, location string) ([]meter, error) {
	first, err := url.Parse(endpoint)
	if err != nil {
		return nil, fmt.Errorf("retail prices endpoint %q: %w", endpoint, err)
	}
	if first.Path == "" || first.Path == "/" {
		first.Path = retailPath
	}
	q := url.Values{}
	q.Set("api-version", "2023-01-01-preview")
	q.Set("currencyCode", "USD")
	q.Set("$filter", fmt.Sprintf("priceType eq 'Consumption' and currencyCode eq 'USD' and serviceFamily eq 'Compute'"+
		" and serviceName eq 'Virtual Machines' and armRegionName eq '%s'", location))
	first.RawQuery = q.Encode()
	var out []meter
	next := first.String()
	for range maxPricePages {
		var page struct {
			Items        []meter `json:"Items"`
			NextPageLink string  `json:"NextPageLink"`
		}
		if err := getJSON(ctx, client, next, &page); err != nil {
			return nil, fmt.Errorf("retail prices: %w", err)
		}
		out = append(out, page.Items...)
		if page.NextPageLink == "" {
			return out, nil
		}
		link, err := url.Parse(page.NextPageLink)
		if err != nil || link.Hostname() != first.Hostname() {
			return nil, fmt.Errorf("retail prices: next page %q is not on %s", page.NextPageLink, first.Hostname())
		}
		next = page.NextPageLink
	}
	return nil, fmt.Errorf("retail prices: more than %d pages", maxPricePages)
}

func getJSON(ctx context.Context, client *http.Client, address string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, pricePageWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s", resp.Status)
	}
	return json.NewDecoder(io.LimitReader(resp.Body, maxPricePage)).Decode(into)
}
