// A peer: graphile-worker in its batched mode, and `fetch`.
import { Logger, makeWorkerUtils, run } from 'graphile-worker'
import { answer } from './answer.mjs'
import { drained } from './drained.mjs'
import { body, deliver, IN_FLIGHT } from './webhook.mjs'

const { database: connectionString, url, deliveries } = JSON.parse(process.argv[2])
const BATCH = 1_000
const logger = new Logger(() => () => undefined)
const utils = await makeWorkerUtils({ connectionString, logger })
await utils.migrate()
let delivered = 0

async function fill() {
  for (let added = 0; added < deliveries; added += BATCH) {
    const count = Math.min(BATCH, deliveries - added)
    await utils.addJobs(
      Array.from({ length: count }, () => ({ identifier: 'deliver', payload: { url, body } })),
    )
  }
}

async function drain({ uncounted }) {
  const worker = { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 }
  const taskList = {
    deliver: async (job) => {
      await deliver(job.url, job.body)
      delivered++
    },
  }
  await run({
    connectionString,
    logger,
    concurrency: IN_FLIGHT,
    maxPoolSize: 12,
    noHandleSignals: true,
    taskList,
    preset: { worker },
  })
  return drained(() => delivered, { uncounted, deliveries })
}
answer({}, { fill, drain })
