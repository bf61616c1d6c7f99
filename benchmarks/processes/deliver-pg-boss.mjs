// A peer: pg-boss in batches without pauses, and `fetch`.
import { PgBoss } from 'pg-boss'
import { answer } from './answer.mjs'
import { drained } from './drained.mjs'
import { body, deliver, IN_FLIGHT } from './webhook.mjs'

const { database: connectionString, url, deliveries } = JSON.parse(process.argv[2])
const BATCH = 1_000
const WORKERS = 2 // One delivers while the other gets its next batch.
const boss = new PgBoss({ connectionString, schedule: false, supervise: false })
boss.on('error', (error) => console.error(error))
await boss.start()
await boss.createQueue('deliver')
let delivered = 0

async function fill() {
  for (let added = 0; added < deliveries; added += BATCH) {
    const count = Math.min(BATCH, deliveries - added)
    await boss.insert(
      'deliver',
      Array.from({ length: count }, () => ({ data: { url, body } })),
    )
  }
}

async function deliverAll(jobs) {
  async function worker() {
    for (let job = jobs.pop(); job; job = jobs.pop()) {
      await deliver(job.data.url, job.data.body)
      delivered++
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT / WORKERS }, worker))
}

async function startWorker() {
  const id = await boss.work(
    'deliver',
    { batchSize: BATCH, pollingIntervalSeconds: 0.5 },
    async (jobs) => {
      boss.notifyWorker(id)
      await deliverAll([...jobs])
    },
  )
}

async function drain({ uncounted }) {
  await Promise.all(Array.from({ length: WORKERS }, startWorker))
  return drained(() => delivered, { uncounted, deliveries })
}
answer({}, { fill, drain })
