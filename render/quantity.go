package render

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"stevedore.dev/stevedore/render/definition"
)

// quantity turns a size as a definition has it ("4Gi", "128GiB") into what
// Kubernetes stores, so that what is applied equals what is read back.
func quantity(size string) (resource.Quantity, error) {
	bytes, err := definition.Bytes(size)
	if err != nil {
		return resource.Quantity{}, err
	}
	if strings.Contains(size, "i") {
		return *resource.NewQuantity(bytes, resource.BinarySI), nil
	}
	return *resource.NewQuantity(bytes, resource.DecimalSI), nil
}

// cores is a number of CPUs as Kubernetes writes it.
func cores(n float64) (string, error) {
	q, err := resource.ParseQuantity(strconv.FormatFloat(n, 'f', -1, 64))
	return q.String(), err
}
