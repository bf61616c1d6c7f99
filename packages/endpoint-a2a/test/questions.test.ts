import { TaskState, type Task } from '@a2a-js/sdk'
import { describe, expect, it } from 'vitest'
import { asking, BINDINGS, LIST_ALL, openScene, type Binding } from './scene.js'

const { TASK_STATE_COMPLETED, TASK_STATE_INPUT_REQUIRED } = TaskState

/** Sends a message whose run asks a question. */
async function openQuestion(binding: Binding, question: object = {}) {
  const scene = await openScene()
  const client = await scene.clientOf('slow', binding)
  const sent = client.sendMessage(asking('Pay 7 €', { contextId: 'c-1' }))
  await expect.poll(() => scene.runtime.openRuns).toHaveLength(1)
  scene.runtime.ask(scene.runtime.openRuns[0] ?? '', { question: 'Pay?', ...question })
  const task = (await sent) as Task
  const answer = (text: string, more: object = {}) =>
    client.sendMessage(asking(text, { taskId: task.id, ...more })) as Promise<Task>
  return { ...scene, answer, client, task }
}

describe.each(BINDINGS)('a question over %s', (binding) => {
  it('is the status of the task, and a message to the task answers it', async () => {
    const options = ['yes', 'no']
    const { answer, client, runtime, task } = await openQuestion(binding, { options })
    expect(task.status).toMatchObject({
      state: TASK_STATE_INPUT_REQUIRED,
      message: { role: 2, parts: [{ content: { value: 'Pay?' } }], metadata: { options } },
    })
    const open = await client.listTasks({ ...LIST_ALL, status: TASK_STATE_INPUT_REQUIRED })
    expect(open.tasks.map(({ id }) => id)).toEqual([task.id])
    await expect(answer('perhaps')).rejects.toMatchObject({ reason: 'INVALID_PARAMS' })
    await expect(answer('yes', { contextId: 'c-2' })).rejects.toThrow('not the context')
    const answered = answer('yes')
    await expect.poll(() => runtime.openRuns).toHaveLength(1)
    expect(runtime.requests.at(-1)).toMatchObject({ inputs: [{ question: 'Pay?', value: 'yes' }] })
    // A repeated answer waits for the same task.
    const repeated = answer('yes')
    runtime.answer(task.id, 'Paid')
    expect((await answered).status?.state).toBe(TASK_STATE_COMPLETED)
    expect((await repeated).id).toBe(task.id)
    const { history } = await client.getTask({ tenant: '', id: task.id })
    expect(
      history.map(({ role, parts }) => [
        role,
        parts[0]?.content?.$case === 'text' && parts[0].content.value,
      ]),
    ).toEqual([
      [1, 'Pay 7 €'],
      [2, 'Pay?'],
      [1, 'yes'],
    ])
    const last = await client.getTask({ tenant: '', id: task.id, historyLength: 1 })
    expect(last.history).toHaveLength(1)
    await expect(answer('no')).rejects.toMatchObject({ reason: 'UNSUPPORTED_OPERATION' })
  })

  it('takes a value of its schema as JSON', async () => {
    const { answer, runtime, task } = await openQuestion(binding, { schema: { type: 'integer' } })
    await expect(answer('many')).rejects.toMatchObject({ reason: 'INVALID_PARAMS' })
    const answered = answer('7')
    await expect.poll(() => runtime.openRuns).toHaveLength(1)
    expect(runtime.requests.at(-1)).toMatchObject({ inputs: [{ value: 7 }] })
    runtime.answer(task.id, 'Paid')
    await answered
  })

  it('is named by metadata.inputId, so that a repeated answer meets no other question', async () => {
    const { answer, runtime, task } = await openQuestion(binding)
    const inputId = task.status?.message?.messageId
    const asked = answer('yes', { metadata: { inputId } })
    await expect.poll(() => runtime.openRuns).toHaveLength(1)
    runtime.ask(task.id, { question: 'Really?' })
    expect((await asked).status?.message?.parts[0]?.content?.value).toBe('Really?')
    const repeated = await answer('yes', { metadata: { inputId } })
    expect(repeated.status?.state).toBe(TASK_STATE_INPUT_REQUIRED)
    await expect(answer('no', { metadata: { inputId } })).rejects.toThrow('another answer')
    await expect(answer('no', { metadata: { inputId: 'x' } })).rejects.toThrow('inputId')
  })

  it('that only the principal of the task can answer refuses others', async () => {
    const { answer, runtime, task } = await openQuestion(binding, {
      answerBy: 'execution_principal',
    })
    const executionPrincipal = { type: 'end_user', endUserId: 'u-2' }
    await expect(answer('yes', { metadata: { executionPrincipal } })).rejects.toThrow(
      'Only the principal of the task can answer',
    )
    const answered = answer('yes')
    await expect.poll(() => runtime.openRuns).toHaveLength(1)
    runtime.answer(task.id, 'Paid')
    await answered
  })

  it('ends a stream, and the stream of its answer goes on', async () => {
    const { client, runtime, task } = await openQuestion(binding)
    const joined = client.resubscribeTask({ tenant: '', id: task.id })
    const first = await joined.next()
    expect(first.value).toMatchObject({
      payload: { value: { status: { state: TASK_STATE_INPUT_REQUIRED } } },
    })
    const answers = client.sendMessageStream(asking('yes', { taskId: task.id }))
    const started = answers.next()
    await expect.poll(() => runtime.openRuns).toHaveLength(1)
    await started
    runtime.ask(task.id, { question: 'Really?' })
    for (const stream of [answers, joined]) {
      let last: unknown
      for await (const event of stream) last = event
      expect(last).toMatchObject({
        payload: {
          $case: 'statusUpdate',
          value: { status: { state: TASK_STATE_INPUT_REQUIRED } },
        },
      })
    }
  })
})
