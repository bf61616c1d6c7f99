import type { Storage } from '@org/agent-messaging-core/storage'
import type { Population } from './populate.js'
import type { Somebody } from './process.js'
import type { World } from './world.js'

type DrainOptions = Population & {
  readonly world: World
  readonly somebody: Somebody
  readonly storage: Storage
}

const LOOK_MS = 5_000
const LONGEST_MS = 15 * 60_000

/** Nothing goes wrong any more, and operators put right what was switched off: says whether everything gets done. */
export async function drain({
  world,
  somebody,
  storage,
  projectId,
  agentIds,
}: DrainOptions): Promise<boolean> {
  for (let waited = 0; waited < LONGEST_MS; waited += LOOK_MS) {
    const { data: webhooks } = (
      await storage.webhooks.list(projectId, { limit: 100 })
    )._unsafeUnwrap()
    for (const { id: webhookId, status } of webhooks) {
      if (status.kind === 'disabled')
        void somebody()?.ask((service) => service.webhooks.enable({ projectId, webhookId }))
    }
    for (const agent of agentIds)
      void somebody()?.ask((service) => service.agents.start({ projectId, agent }))
    await world.until(() => false, LOOK_MS)
    const { queued, running, deferred } = (
      await storage.messages.backlog(world.now())
    )._unsafeUnwrap()
    const { open } = (await storage.deliveries.backlog(world.now()))._unsafeUnwrap()
    if (queued + running + deferred + open === 0) return true
  }
  return false
}
