// A peer: BullMQ and `fetch`. The variable hides the import from tools that check dependencies.
import { answer } from './answer.mjs'
import { drained } from './drained.mjs'
import { body, deliver, IN_FLIGHT } from './webhook.mjs'

const { database: path, url, deliveries } = JSON.parse(process.argv[2])
const BATCH = 1_000
const PEER = 'bullmq'
const { Queue, Worker } = await import(PEER)
const queue = new Queue('deliver', {
  connection: { path },
  defaultJobOptions: { removeOnComplete: true },
})
let delivered = 0

async function fill() {
  for (let added = 0; added < deliveries; added += BATCH) {
    const count = Math.min(BATCH, deliveries - added)
    await queue.addBulk(
      Array.from({ length: count }, () => ({ name: 'deliver', data: { url, body } })),
    )
  }
}

async function drain({ uncounted }) {
  const worker = new Worker('deliver', ({ data }) => deliver(data.url, data.body), {
    connection: { path, maxRetriesPerRequest: null },
    concurrency: IN_FLIGHT,
  })
  worker.on('completed', () => delivered++)
  return drained(() => delivered, { uncounted, deliveries })
}
answer({}, { fill, drain })
