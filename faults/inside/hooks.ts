import { register } from 'node:module'
import { isMainThread } from 'node:worker_threads'

/**
 * For `node --import`: wraps the storage, the sender and the clock of the real server where the
 * server imports them. The server's code does not change.
 */
if (isMainThread) {
  register('./resolve.js', import.meta.url)
  await import('./migrations.js')
  await import('./commands.js')
}
