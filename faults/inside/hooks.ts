import { register } from 'node:module'
import { isMainThread } from 'node:worker_threads'

/**
 * `node --import` this, and the real server runs with our hands in it: its storage, its sender and its clock are wrapped where it imports
 * them. Production code knows nothing of it.
 */
if (isMainThread) {
  register('./resolve.js', import.meta.url)
  await import('./migrations.js')
  await import('./orders.js')
}
