// The entry of the thread that sends webhooks. Plain JavaScript and package names let Node load the
// file from `src` and from `dist`.
import { parentPort, workerData } from 'node:worker_threads'
import { attemptMaker } from '@org/agent-messaging-core/runtime'
import { nodeCrypto, systemClock } from '@org/agent-messaging-core/node'
import {
  addressGuard,
  httpWebhookSender,
  outboundHttp,
  Results,
} from '@org/agent-messaging-adapter-outbound/webhooks'

/** @type {import('./sender-thread.js').ThreadData} */
const { masterKey, otherMasterKeys, policy, addresses, outbound } = workerData
const http = outboundHttp({ ...outbound, guard: addressGuard(addresses) })
/** The service's time of day minus the system's. */
let offsetMs = 0
const clock = { ...systemClock, now: () => systemClock.now() + offsetMs }
const maker = attemptMaker({
  clock,
  crypto: nodeCrypto(masterKey, otherMasterKeys),
  sender: httpWebhookSender(http, clock),
  policy,
})

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
const results = new Results((all) => parentPort?.postMessage(all))

/**
 * @param {number} number
 * @param {import('@org/agent-messaging-core/runtime').AttemptOrder} order
 * @param {boolean} canWait
 */
async function make(number, order, canWait) {
  results.add(number, await maker.make(order), canWait)
}

async function close() {
  await http.close()
  // `http.close` ends all attempts.
  setImmediate(() => {
    results.post()
    parentPort?.unref()
  })
}

const onRequest = (/** @type {import('./sender-thread.js').ThreadRequest} */ request) => {
  if (request === 'close') return void close()
  offsetMs = request.offsetMs
  for (const [number, order, canWait] of request.orders) void make(number, order, canWait)
}
parentPort?.on('message', onRequest)
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
parentPort?.postMessage('ready')
