package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"stevedore.dev/stevedore/render"
	"stevedore.dev/stevedore/render/definition"
)

// renderFlags are what rendering takes from the command line; the same for
// every verb that renders, so that they agree.
type renderFlags struct {
	cloud        string
	namespace    string
	allowedKinds []string
	sqlExporter  string
	jmxURL       string
	jmxSHA256    string
	debugClass   string
	debugSize    string
	// root is the folder that the verbs that read a folder may look into beside it.
	root string
	// trusted and untrusted are of the verbs that read a pull request.
	trusted, untrusted bool
	// child starts the confined process of a daemon; empty: this binary.
	child []string
}

func (r *renderFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&r.cloud, "cloud-provider", "", "where nodes learn their zone: aws, azure or gcp (default: nowhere)")
	flags.StringVar(&r.namespace, "default-namespace", "", "namespace of objects that name none (default: they are refused)")
	flags.StringSliceVar(&r.allowedKinds, "allowed-kinds", nil, "other kinds that may travel with a cluster (default: "+strings.Join(render.DefaultAllowedKinds, ", ")+")")
	flags.StringVar(&r.sqlExporter, "sql-exporter-image", "", "image of the SQL exporter (default: no exporter)")
	flags.StringVar(&r.jmxURL, "jmx-exporter-url", "", "where the JMX exporter's jar is fetched from (default: no exporter)")
	flags.StringVar(&r.jmxSHA256, "jmx-exporter-sha256", "", "checksum of that jar, required with it")
	flags.StringVar(&r.debugClass, "debug-storage-class", "", "storage class of the claims debug of new clusters (default: that of the group's data)")
	flags.StringVar(&r.debugSize, "debug-volume-size", "", "size of the claims debug of new clusters (default: 64Gi)")
}

func (r *renderFlags) config() (render.Config, error) {
	clouds := []render.CloudProvider{render.CloudNone, render.CloudAWS, render.CloudAzure, render.CloudGCP}
	if !slices.Contains(clouds, render.CloudProvider(r.cloud)) {
		return render.Config{}, fmt.Errorf("--cloud-provider %q is not known: write aws, azure or gcp", r.cloud)
	}
	if (r.jmxURL == "") != (r.jmxSHA256 == "") {
		return render.Config{}, fmt.Errorf("--jmx-exporter-url and --jmx-exporter-sha256 go together: what a pod fetches is checked")
	}
	if problem := strings.Join(validation.IsDNS1123Subdomain(r.debugClass), ", "); r.debugClass != "" && problem != "" {
		return render.Config{}, fmt.Errorf("--debug-storage-class %q is no name of a storage class: %s", r.debugClass, problem)
	}
	if _, err := definition.Bytes(r.debugSize); r.debugSize != "" && err != nil {
		return render.Config{}, fmt.Errorf("--debug-volume-size %q %w", r.debugSize, err)
	}
	return render.Config{
		CloudProvider: render.CloudProvider(r.cloud), DefaultNamespace: r.namespace, AllowedKinds: r.allowedKinds,
		SQLExporterImage: r.sqlExporter, JMXExporterURL: r.jmxURL, JMXExporterSHA256: r.jmxSHA256,
		DebugStorageClass: r.debugClass, DebugVolumeSize: r.debugSize,
	}, nil
}

// problems of a build, those of clusters included, each once.
func problemsOf(build *render.Build) []definition.Problem {
	all := slices.Clone(build.Problems)
	for _, cluster := range build.Clusters {
		all = append(all, cluster.Problems...)
	}
	var unique []definition.Problem
	seen := map[string]bool{}
	for _, problem := range all {
		if text := problem.String(); !seen[text] {
			seen[text] = true
			unique = append(unique, problem)
		}
	}
	return unique
}

// selects says whether --cluster names this one: NAME or NAMESPACE/NAME.
func selects(filter, namespace, name string) bool {
	return filter == "" || filter == name || filter == namespace+"/"+name
}
