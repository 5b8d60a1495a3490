package arm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/karpenter-aks/karpenter/lab/skus"
)

// pricePage is how many records one answer holds (documentation "Azure Retail Prices overview": 1,000).
const pricePage = 1000

// priceItem is one record of the retail price list, under the names that the API prints.
type priceItem struct {
	Currency   string  `json:"currencyCode"`
	Tier       float64 `json:"tierMinimumUnits"`
	Term       string  `json:"reservationTerm,omitempty"`
	Price      float64 `json:"retailPrice"`
	UnitPrice  float64 `json:"unitPrice"`
	Region     string  `json:"armRegionName"`
	Location   string  `json:"location"`
	From       string  `json:"effectiveStartDate"`
	MeterID    string  `json:"meterId"`
	Meter      string  `json:"meterName"`
	ProductID  string  `json:"productId"`
	SKUID      string  `json:"skuId"`
	Product    string  `json:"productName"`
	SKU        string  `json:"skuName"`
	Service    string  `json:"serviceName"`
	ServiceID  string  `json:"serviceId"`
	Family     string  `json:"serviceFamily"`
	Unit       string  `json:"unitOfMeasure"`
	Type       string  `json:"type"`
	Primary    bool    `json:"isPrimaryMeterRegion"`
	ARMSKUName string  `json:"armSkuName"`
}

// priceClause is one comparison of a filter.
var priceClause = regexp.MustCompile(`^\s*\(?\s*([A-Za-z]+)\s+eq\s+'([^']*)'\s*\)?\s*$`)

// retailPrices is the Azure Retail Prices API: no authentication, OData filter of comparisons joined by "and", pages
// of 1,000 that NextPageLink joins. Values are compared with regard to case, as api-version 2023-01-01-preview does.
func (c *Cloud) retailPrices(q *call) (*reply, *apiError) {
	bad := func(text string) (*reply, *apiError) {
		body, _ := json.Marshal(object{"Error": object{"Code": "BadRequest", "Message": text}})
		return nil, &apiError{Status: http.StatusBadRequest, Code: "BadRequest", Message: text, body: body}
	}
	want := map[string]string{}
	filter := q.query.Get("$filter")
	if filter != "" {
		for _, part := range strings.Split(filter, " and ") {
			m := priceClause.FindStringSubmatch(part)
			if m == nil {
				return bad("Invalid OData parameters supplied: '" + part + "'")
			}
			want[strings.ToLower(m[1])] = m[2]
		}
	}
	if cur := q.query.Get("currencyCode"); cur != "" && strings.Trim(cur, "'") != "USD" {
		return bad("The lab has prices in USD only.")
	}
	skip := 0
	if s := q.query.Get("$skip"); s != "" {
		var err error
		if skip, err = strconv.Atoi(s); err != nil || skip < 0 {
			return bad("Invalid OData parameters supplied: $skip")
		}
	}
	items, seen, more := []priceItem{}, 0, false
	for _, it := range c.priceList() {
		keep, known := it.matches(want)
		if !known {
			return bad("Invalid OData parameters supplied: unknown field")
		}
		if !keep {
			continue
		}
		if seen++; seen <= skip {
			continue
		}
		if more = len(items) == pricePage; more {
			break
		}
		items = append(items, it)
	}
	var next any
	if more {
		v := url.Values{"$filter": {filter}, "$skip": {strconv.Itoa(skip + pricePage)}}
		if a := q.query.Get("api-version"); a != "" {
			v.Set("api-version", a)
		}
		next = q.base + "/api/retail/prices?" + v.Encode()
	}
	return ok(object{"BillingCurrency": "USD", "CustomerEntityId": "Default", "CustomerEntityType": "Retail", "Items": items, "NextPageLink": next, "Count": len(items)})
}

func (it priceItem) matches(want map[string]string) (keep, known bool) {
	for k, v := range want {
		has := ""
		switch k {
		case "currencycode":
			has = it.Currency
		case "armregionname":
			has = it.Region
		case "location":
			has = it.Location
		case "metername":
			has = it.Meter
		case "productname":
			has = it.Product
		case "skuname":
			has = it.SKU
		case "servicename":
			has = it.Service
		case "servicefamily":
			has = it.Family
		case "pricetype", "type":
			has = it.Type
		case "armskuname":
			has = it.ARMSKUName
		default:
			return false, false
		}
		if has != v {
			return false, true
		}
	}
	return true, true
}

// price is what an offer costs now, in USD per hour. The caller holds mu.
func (c *Cloud) price(o skus.Offer, spot bool) float64 { return c.priceIn(c.cfg.Location, o, spot) }

func (c *Cloud) priceIn(region string, o skus.Offer, spot bool) float64 {
	key, v := region+"/"+o.Size.Name, o.USDPerHour
	if spot {
		key, v = key+"/spot", o.SpotUSDPerHour
	}
	for k, p := range c.knobs.Prices {
		if strings.EqualFold(k, key) {
			return p
		}
	}
	return v
}

// priceList is every record, in a fixed order: what a client wants, among what it has to leave out. The caller holds
// mu.
func (c *Cloud) priceList() []priceItem {
	if c.prices != nil && len(c.knobs.Prices) == 0 {
		return c.prices
	}
	var list []priceItem
	for _, r := range c.table.Regions() {
		for _, o := range c.table.Offers(r.Name) {
			list = append(list, c.priceItems(r, o)...)
		}
	}
	if len(c.knobs.Prices) == 0 {
		c.prices = list
	}
	return list
}

// priceItems are the records of one size in one region: Linux, spot and low priority; the same for Windows;
// reservations and Dev/Test.
func (c *Cloud) priceItems(r skus.Region, o skus.Offer) []priceItem {
	s := o.Size
	short := strings.ReplaceAll(strings.TrimPrefix(s.Name, "Standard_"), "_", " ")
	product := "Virtual Machines " + strings.ReplaceAll(s.Series, "_", "") + " Series"
	item := func(product, suffix, kind string, usd float64) priceItem {
		id := guid("meter", r.Name, s.Name, product, suffix, kind)
		return priceItem{Currency: "USD", Price: usd, UnitPrice: usd, Region: r.Name, Location: r.DisplayName, From: "2026-01-01T00:00:00Z",
			MeterID: id, Meter: short + suffix, ProductID: "DZH3" + id[:8], SKUID: "DZH3" + id[:8] + "/" + id[9:13],
			Product: product, SKU: short + suffix, Service: "Virtual Machines", ServiceID: "DZH313Z7MMC8", Family: "Compute",
			Unit: "1 Hour", Type: kind, Primary: true, ARMSKUName: s.Name}
	}
	usd, spot := c.priceIn(r.Name, o, false), c.priceIn(r.Name, o, true)
	windows := usd + 0.046*float64(s.VCPUs)
	list := []priceItem{item(product+" Windows", "", "Consumption", windows), item(product, "", "Consumption", usd), item(product, "", "DevTestConsumption", usd)}
	if s.Spot {
		list = append(list, item(product, " Low Priority", "Consumption", usd*0.2), item(product, " Spot", "Consumption", spot), item(product+" Windows", " Spot", "Consumption", spot*2))
	}
	reserved := item(product, "", "Reservation", usd*8760*0.6)
	reserved.Term = "1 Year"
	// Dedicated hosts have names that look like sizes.
	host := item(product+" Dedicated Host", "", "Consumption", usd*40)
	host.ARMSKUName = fmt.Sprintf("%s_Type1", s.Series)
	return append(list, reserved, host)
}
