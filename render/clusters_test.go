package render

import "stevedore.dev/stevedore/render/definition"

func ports() definition.Ports {
	return definition.Ports{HTTP: 4200, Postgres: 5432, JMX: 6666, Prometheus: 7071, Exporter: 9399, Transport: 4300}
}

func nodes(name string, replicas int, request, limit float64, memory string, disk definition.Disk, heap float64) definition.NodeGroup {
	return definition.NodeGroup{Name: name, Replicas: replicas, Resources: definition.Resources{
		RequestCPU: request, LimitCPU: limit, RequestMemory: memory, LimitMemory: memory, Disk: disk, HeapRatio: heap,
	}}
}

// single is testdata/crate-operator/single.yaml.
func single() Cluster {
	return Cluster{Namespace: "dev", Name: "my-cluster", Definition: &definition.CrateDB{
		Namespace: "dev", Name: "my-cluster", File: "single.yaml", Line: 1,
		Spec: definition.Spec{
			Cluster: definition.Cluster{Name: "crate-dev", ImageRegistry: "crate", Version: "5.10.7"},
			Nodes: definition.Nodes{Data: []definition.NodeGroup{
				nodes("hot", 3, 4, 4, "4Gi", definition.Disk{Count: 1, Size: "128GiB", StorageClass: "default"}, 0.25),
			}},
			Ports: ports(),
		},
	}}
}

// tiers is testdata/crate-operator/tiers.yaml.
func tiers() Cluster {
	secret := func(key string) definition.SecretKeyRef {
		return definition.SecretKeyRef{Name: "orders-ssl", Key: key}
	}
	master := nodes("master", 3, 0.5, 1, "1Gi", definition.Disk{Count: 1, Size: "16GiB", StorageClass: "default"}, 0.5)
	hot := nodes("hot", 3, 2, 4, "8Gi", definition.Disk{Count: 2, Size: "256GiB", StorageClass: "fast"}, 0.5)
	hot.Labels = map[string]string{"tier": "hot"}
	hot.Annotations = map[string]string{"example.com/owner": "storage"}
	hot.Settings = []definition.Setting{{Name: "node.attr.tier", Value: "hot"}}
	cold := nodes("cold", 2, 2, 2, "4Gi", definition.Disk{Count: 1, Size: "1TiB", StorageClass: "slow"}, 0.25)
	cold.Nodepool = "cold"
	cold.Settings = []definition.Setting{{Name: "node.attr.tier", Value: "cold"}}
	return Cluster{Namespace: "prod", Name: "orders", Definition: &definition.CrateDB{
		Namespace: "prod", Name: "orders", Labels: map[string]string{"team": "payments"}, File: "tiers.yaml", Line: 1,
		Spec: definition.Spec{
			Cluster: definition.Cluster{
				Name: "orders", ImageRegistry: "crate", Version: "6.4.3",
				AllowedCIDRs: []string{"192.0.2.0/24", "198.51.100.7/32"}, ExternalDNS: "orders.example.com.",
				Settings:           []definition.Setting{{Name: "indices.breaker.query.limit", Value: "40%"}, {Name: "stats.enabled", Value: "true"}},
				SSL:                &definition.SSL{Keystore: secret("keystore"), KeystorePassword: secret("keystore-password"), KeystoreKeyPassword: secret("keystore-key-password")},
				ServiceAnnotations: map[string]string{"example.com/team": "payments"},
			},
			Nodes: definition.Nodes{Master: &master, Data: []definition.NodeGroup{hot, cold}},
			Users: []definition.User{{Name: "app", Password: definition.SecretKeyRef{Name: "orders-app", Key: "password"}}},
			Ports: ports(),
		},
	}}
}
