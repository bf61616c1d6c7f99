// The thread of webhook-thread.ts. Plain JavaScript that imports by the names of packages, so that Node loads it from src as from dist.
import { parentPort, workerData } from 'node:worker_threads'
import { attemptMaker } from '@org/agent-messaging-core/runtime'
import { nodeCrypto, systemClock } from '@org/agent-messaging-core/node'
import {
  addressGuard,
  httpWebhookSender,
  outboundHttp,
} from '@org/agent-messaging-outbound/webhooks'

/** @type {import('./webhook-thread.js').ThreadData} */
const { masterKey, otherMasterKeys, policy, addresses, outbound } = workerData
const http = outboundHttp({ ...outbound, guard: addressGuard(addresses) })
const maker = attemptMaker({
  clock: systemClock,
  crypto: nodeCrypto(masterKey, otherMasterKeys),
  sender: httpWebhookSender(http),
  policy,
})

/** @type {[number, import('@org/agent-messaging-core/runtime').MadeAttempt][]} */
let answers = []

/** Once for all that end in one turn of the event loop. */
function tellAnswers() {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- the port of a thread, not a window
  parentPort?.postMessage(answers)
  answers = []
}

/** @param {number} number @param {import('@org/agent-messaging-core/runtime').AttemptOrder} order */
async function make(number, order) {
  const made = await maker.make(order)
  if (answers.length === 0) setImmediate(tellAnswers)
  answers.push([number, made])
}

async function close() {
  await http.close()
  // After the answers, which this makes.
  setImmediate(() => parentPort?.close())
}

parentPort?.on('message', (/** @type {import('./webhook-thread.js').Told} */ told) => {
  if (told === 'close') return void close()
  for (const [number, order] of told) void make(number, order)
})
