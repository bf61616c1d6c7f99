import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chromiumPath } from './chromium.mjs'

/** Programs and rights that tests need beyond Node. */
const NEEDS = {
  chromium: {
    words: 'Chromium (in a well-known place, or CHROMIUM_PATH)',
    isHere: () => chromiumPath() !== undefined,
  },
  fullDevice: { words: '/dev/full', isHere: () => existsSync('/dev/full') },
  go: { words: 'Go', isHere: () => succeeds('go', 'version') },
  root: { words: 'a root shell', isHere: () => process.getuid?.() === 0 },
  mounts: {
    words: 'mounts in a user namespace (unshare and mount)',
    isHere: () => succeeds('unshare', '-rm', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'),
  },
  namespaces: {
    words: 'network namespaces (root and iproute2)',
    isHere: () => succeeds('unshare', '-n', 'ip', 'link', 'set', 'lo', 'up'),
  },
  openssl: { words: 'openssl', isHere: () => succeeds('openssl', 'version') },
  pgbouncer: { words: 'PgBouncer', isHere: () => succeeds('pgbouncer', '--version') },
  python: { words: 'Python 3.9', isHere: () => succeeds('python3', '-c', '"".removeprefix("")') },
  systemd: { words: 'systemd-analyze', isHere: () => succeeds('systemd-analyze', '--version') },
  strace: { words: 'strace', isHere: () => succeeds('strace', '-f', '-o', '/dev/null', 'true') },
}

type Need = keyof typeof NEEDS

declare module 'vitest' {
  interface TaskMeta {
    /** The needs that this machine does not meet. */
    missing?: readonly string[]
  }
}

/**
 * Options for `it` or `describe`: `it('fsyncs each commit', needs('strace'), () => …)`. Skips the
 * test if the machine does not meet a need, and names the test at the end of the run. `.ci/run`
 * installs every need and fails when a test is skipped.
 */
export function needs(...all: readonly Need[]): {
  readonly skip: boolean
  readonly meta: { readonly missing: readonly string[] }
} {
  const missing = all.filter((need) => !NEEDS[need].isHere()).map((need) => NEEDS[need].words)
  return { skip: missing.length > 0, meta: { missing } }
}

const succeeds = (command: string, ...args: readonly string[]): boolean =>
  spawnSync(command, args, { stdio: 'ignore' }).status === 0
