export default {
  // Node loads this package and all below it. A bundled driver would not find its native binary.
  serverExternalPackages: ['@org/agent-messaging-node'],
}
