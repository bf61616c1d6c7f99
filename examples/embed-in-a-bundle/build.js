import { build } from 'esbuild'

const packages = 'node_modules/@org/agent-messaging-'
await build({
  entryPoints: {
    main: 'main.js',
    // The file of a thread, which starts by this name beside the bundle.
    'sqlite-lease-keeper-thread': `${packages}adapter-sqlite/dist/sqlite-lease-keeper-thread.js`,
    // For PostgreSQL, after npm install pg:
    // 'postgres-lease-keeper-thread': `${packages}adapter-postgres/dist/postgres-lease-keeper-thread.js`,
  },
  outdir: 'out',
  bundle: true,
  platform: 'node',
  format: 'esm',
  external: ['better-sqlite3'], // a native package: install it beside the bundle
  // Some packages are CommonJS and call `require`.
  banner: {
    js: "import { createRequire as bannerRequire } from 'node:module'; const require = bannerRequire(import.meta.url)",
  },
})
