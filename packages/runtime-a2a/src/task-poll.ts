import type { Task } from '@a2a-js/sdk'
import type { Client } from '@a2a-js/sdk/client'
import type { Clock } from '@org/agent-messaging-core/runtime'
import { TaskNotFoundError, TaskState } from './sdk.js'

/** The delays between polls of a running task, in ms. The last one repeats. */
const POLL_DELAYS_MS = [100, 200, 400, 800, 1_600]
/** After this many failed polls in a row, the run fails. The next attempt continues the task. */
const MAX_FAILED_POLLS = 5
const CANCEL_TIMEOUT_MS = 3_000

export type PollDeps = { readonly client: Client; readonly clock: Pick<Clock, 'sleep'> }

/** Polls the task until it rests. `answered`: the question that the sent message answers. */
export async function waitForTask(
  { client, clock }: PollDeps,
  started: Task,
  answered: string | undefined,
  signal: AbortSignal,
): Promise<Task> {
  let task = started
  let failedPolls = 0
  for (let poll = 0; isWorking(task) || isOutdated(task, answered); poll++) {
    await clock.sleep(POLL_DELAYS_MS[Math.min(poll, POLL_DELAYS_MS.length - 1)] ?? 0, signal)
    try {
      signal.throwIfAborted()
      task = await client.getTask({ tenant: '', id: started.id }, { signal })
      failedPolls = 0
    } catch (error) {
      failedPolls += 1
      if (signal.aborted) await cancel(client, started, signal)
      const isFinal = signal.aborted || error instanceof TaskNotFoundError
      if (isFinal || failedPolls >= MAX_FAILED_POLLS) throw error
    }
  }
  return task
}

/** Identifies the agent's question. Empty if the agent gave it no id and no time. */
export const questionOf = ({ status }: Task): string =>
  [status?.message?.messageId, status?.timestamp].filter(Boolean).join('@')

/** True if the task waits for a person. */
const asksPerson = ({ status }: Task): boolean =>
  status?.state === TaskState.TASK_STATE_INPUT_REQUIRED ||
  status?.state === TaskState.TASK_STATE_AUTH_REQUIRED

const isWorking = ({ status }: Task): boolean =>
  status === undefined ||
  status.state === TaskState.TASK_STATE_SUBMITTED ||
  status.state === TaskState.TASK_STATE_WORKING

/** An agent can show the answered question until it processes the new message. */
const isOutdated = (task: Task, answered: string | undefined): boolean =>
  answered !== undefined && asksPerson(task) && questionOf(task) === answered

/** Cancels the task, unless another attempt continues it after a drain or a lost lease. */
async function cancel(client: Client, { id }: Task, { reason }: AbortSignal): Promise<void> {
  const cause = reason instanceof Error ? reason.cause : undefined
  if (cause === 'drain' || cause === 'lost') return
  const signal = AbortSignal.timeout(CANCEL_TIMEOUT_MS)
  await client
    .cancelTask({ tenant: '', id, metadata: undefined }, { signal })
    .catch(() => undefined)
}
