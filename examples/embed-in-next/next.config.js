export default {
  // Node loads these packages. A bundled database driver would not find its native binary.
  serverExternalPackages: [
    '@org/agent-messaging-core',
    '@org/agent-messaging-adapter-http',
    '@org/agent-messaging-adapter-outbound',
    '@org/agent-messaging-adapter-sqlite',
    'better-sqlite3',
  ],
}
