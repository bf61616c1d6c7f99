export default {
  // Node loads these packages. A bundled database driver would not find its native binary.
  serverExternalPackages: [
    '@org/agent-messaging-core',
    '@org/agent-messaging-http',
    '@org/agent-messaging-outbound',
    '@org/agent-messaging-sqlite',
    'better-sqlite3',
  ],
}
