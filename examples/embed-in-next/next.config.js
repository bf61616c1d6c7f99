export default {
  // Loaded by Node as they are: the database driver is native, and finds its binary beside itself.
  serverExternalPackages: [
    '@org/agent-messaging-core',
    '@org/agent-messaging-http',
    '@org/agent-messaging-outbound',
    '@org/agent-messaging-sqlite',
    'better-sqlite3',
  ],
}
