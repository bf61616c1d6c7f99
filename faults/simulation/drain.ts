import { unwrap } from '@org/agent-messaging-testing'
import type { Storage } from '@org/agent-messaging-core/storage'
import type { Population } from './populate.js'
import type { AnyProcess } from './process.js'
import type { Timeline } from './timeline.js'

type DrainOptions = Population & {
  readonly timeline: Timeline
  readonly anyProcess: AnyProcess
  readonly storage: Storage
}

const LOOK_MS = 5_000
const LONGEST_MS = 15 * 60_000

/** Enables all webhooks and agents after the faults. Returns true if all work then ends. */
export async function drain({
  timeline,
  anyProcess,
  storage,
  projectId,
  agentIds,
}: DrainOptions): Promise<boolean> {
  for (let waited = 0; waited < LONGEST_MS; waited += LOOK_MS) {
    const { data: webhooks } = unwrap(await storage.webhooks.list(projectId, { limit: 100 }))
    for (const { id: webhookId, status } of webhooks) {
      if (status.kind === 'disabled')
        void anyProcess()?.ask((service) => service.webhooks.enable({ projectId, webhookId }))
    }
    for (const agent of agentIds)
      void anyProcess()?.ask((service) => service.agents.start({ projectId, agent }))
    await timeline.until(() => false, LOOK_MS)
    const { queued, running, deferred, inputRequired } = unwrap(
      await storage.messages.backlog(timeline.now()),
    )
    const { open } = unwrap(await storage.deliveries.backlog(timeline.now()))
    const { data: recoveries } = unwrap(await storage.recoveries.list(projectId, { limit: 100 }))
    const isSearching = recoveries.some(({ state }) => state.kind === 'running')
    if (queued + running + deferred + inputRequired + open === 0 && !isSearching) return true
  }
  return false
}
