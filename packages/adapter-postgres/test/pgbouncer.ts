import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { freePort } from '../../../scripts/free-port.mjs'
import { answering, unprivileged } from './postgres-server.mjs'

/** Starts a PgBouncer in transaction mode with few connections to the database of `url`. */
export async function testPgBouncer(
  url: string,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const folder = await mkdtemp(path.join(tmpdir(), 'agent-messaging-pgbouncer-'))
  await chmod(folder, 0o755)
  const [target, port] = [new URL(url), await freePort()]
  const [users, settings] = [path.join(folder, 'users.txt'), path.join(folder, 'pgbouncer.ini')]
  await writeFile(users, `"${target.username}" "${target.password}"\n`)
  await writeFile(
    settings,
    [
      '[databases]',
      `* = host=${target.hostname} port=${target.port}`,
      '[pgbouncer]',
      `listen_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =`,
      `auth_type = trust\nauth_file = ${users}`,
      'pool_mode = transaction\ndefault_pool_size = 4',
    ].join('\n'),
  )
  const user = await unprivileged()
  const bouncer = spawn('pgbouncer', ['-q', settings], { ...user, stdio: 'ignore' })
  const exited = once(bouncer, 'exit')
  const here = Object.assign(new URL(url), { hostname: '127.0.0.1', port: `${port}` }).href
  await answering(here)
  return {
    url: here,
    close: async () => {
      bouncer.kill('SIGTERM')
      await exited
      await rm(folder, { recursive: true, force: true })
    },
  }
}
