"""Standing in for KubeRay's collector: the environment that its operator makes, as our configuration.

Facts: `historyserver/cmd/collector`, `historyserver/pkg/storage` and
`ray-operator/controllers/ray/common/pod.go` of KubeRay 1.6 to 1.7.
"""

from rayhist_collector.kuberay.translation import Translation, is_operated, translate

__all__ = ["Translation", "is_operated", "translate"]
