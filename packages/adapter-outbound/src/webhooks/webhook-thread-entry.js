// The entry of the thread that sends webhooks. Plain JavaScript and package names let Node load the
// file from `src` and from `dist`.
import { parentPort, workerData } from 'node:worker_threads'
import { attemptMaker } from '@org/agent-messaging-core/runtime'
import { nodeCrypto, systemClock } from '@org/agent-messaging-core/node'
import {
  addressGuard,
  httpWebhookSender,
  outboundHttp,
} from '@org/agent-messaging-outbound/webhooks'

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

/** @type {[number, import('@org/agent-messaging-core/runtime').MadeAttempt][]} */
let results = []

/** Posts the results of one event loop turn in one message. */
function postResults() {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort?.postMessage(results)
  results = []
}

/**
 * @param {number} number
 * @param {import('@org/agent-messaging-core/runtime').AttemptOrder} order
 */
async function make(number, order) {
  const made = await maker.make(order)
  if (results.length === 0) setImmediate(postResults)
  results.push([number, made])
}

async function close() {
  await http.close()
  // `http.close` ends all attempts. Their results are posted first.
  setImmediate(() => parentPort?.unref())
}

const onRequest = (/** @type {import('./sender-thread.js').ThreadRequest} */ request) => {
  if (request === 'close') return void close()
  offsetMs = request.offsetMs
  for (const [number, order] of request.orders) void make(number, order)
}
parentPort?.on('message', onRequest)
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
parentPort?.postMessage('ready')
