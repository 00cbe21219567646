package apply

import (
	"sync"

	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
)

// Schema is that of Kubernetes' own kinds: which lists go by a key, which fields
// there are. It takes 0.2 s and 20 MiB to make, so it is made once, by the first who
// needs it: most verbs never do.
var Schema = sync.OnceValue(func() managedfields.TypeConverter {
	return applyconfigurations.NewTypeConverter(scheme.Scheme)
})
