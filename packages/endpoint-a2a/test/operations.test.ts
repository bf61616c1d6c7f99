import { TaskState, type Task } from '@a2a-js/sdk'
import { describe, expect, it } from 'vitest'
import { asking, BINDINGS, LIST_ALL, openScene, partOf } from './scene.js'

const textOf = ({ artifacts }: Task): string =>
  artifacts
    .flatMap(({ parts }) => parts)
    .map(({ content }) => (content?.$case === 'text' ? content.value : ''))
    .join('')

const idOf = (task: unknown): string => (task as Task).id

describe.each(BINDINGS)('the official client over %s', (binding) => {
  it('sends a message, and gets its answer as the artifact of a task', async () => {
    const { clientOf, messagesOf } = await openScene()
    const client = await clientOf('echo', binding)
    const task = (await client.sendMessage(
      asking('Hello', { messageId: 'm-1', contextId: 'c-1', metadata: { channel: 'web' } }),
    )) as Task
    expect(task.status?.state).toBe(TaskState.TASK_STATE_COMPLETED)
    expect(textOf(task)).toBe('Hello')
    expect(task.contextId).toBe('c-1')
    expect(task.history).toMatchObject([
      { messageId: 'm-1', role: 1, taskId: task.id, metadata: { channel: 'web' } },
    ])
    expect(await messagesOf('echo')).toMatchObject([
      {
        id: task.id,
        sessionId: 'c-1',
        message: 'Hello',
        metadata: { channel: 'web', a2aMessageId: 'm-1' },
      },
    ])
    expect(await client.getTask({ tenant: '', id: task.id })).toEqual(task)
  })

  it('repeats a send, and gets the same task', async () => {
    const { clientOf, messagesOf } = await openScene()
    const client = await clientOf('echo', binding)
    const request = asking('Hello', { messageId: crypto.randomUUID() })
    const [first, second] = [await client.sendMessage(request), await client.sendMessage(request)]
    expect(second).toEqual(first)
    expect((first as Task).contextId).not.toBe('')
    expect(await messagesOf('echo')).toHaveLength(1)
    const others = [asking('Hello', { messageId: '1' }), asking('Bye', { messageId: '1' })]
    for (const sent of others) await client.sendMessage(sent)
    expect(await messagesOf('echo')).toHaveLength(3)
    const other = asking('Bye', { messageId: request.message?.messageId ?? '' })
    await expect(client.sendMessage(other)).rejects.toThrow(
      'message.messageId was already used with a different message',
    )
  })

  it.each(['reuse', 'reject'] as const)(
    'gets nothing of a task of another context or principal with the same messageId (%s)',
    async (onKeyMismatch) => {
      const { clientOf, messagesOf, projectId, service } = await openScene({ onKeyMismatch })
      const client = await clientOf('echo', binding)
      const [first, second] = [crypto.randomUUID(), crypto.randomUUID()]
      const by = (endUserId: string) => ({ executionPrincipal: { type: 'end_user', endUserId } })
      const pin = 'my pin is 4711'
      await client.sendMessage(asking(pin, { messageId: first, contextId: 'theirs' }))
      await client.sendMessage(asking(pin, { messageId: second, metadata: by('u-1') }))
      const stored = await messagesOf('echo')
      const push = { url: 'https://mine.example/', id: 'mine', taskId: '', token: '', tenant: '' }
      const configuration = {
        taskPushNotificationConfig: { ...push, authentication: undefined },
      }
      for (const request of [
        asking(pin, { messageId: first, contextId: 'mine' }),
        asking(pin, { messageId: first, contextId: 'mine', configuration }),
        asking(pin, { messageId: first }),
        asking(pin, { messageId: second, metadata: by('u-2') }),
      ]) {
        const error: unknown = await client.sendMessage(request).catch((thrown) => thrown)
        expect(error).toMatchObject({
          message: 'message.messageId was already used with a different message',
        })
        const seen = JSON.stringify(error)
        for (const { id, sessionId } of stored)
          for (const part of [id, sessionId, '4711']) expect(seen).not.toContain(part)
      }
      expect(await messagesOf('echo')).toEqual(stored)
      for (const { id: messageId } of stored)
        expect(await service.hooks.list({ projectId, agent: 'echo', messageId })).toEqual([])
    },
  )

  it('gets the task at once with returnImmediately, and cancels it in the name of its key', async () => {
    const { clientOf, projectId, runtime, service } = await openScene()
    const client = await clientOf('slow', binding)
    const configuration = { returnImmediately: true, historyLength: 0 }
    const task = (await client.sendMessage(asking('Hi', { configuration }))) as Task
    expect(task.history).toEqual([])
    await expect.poll(() => runtime.openRuns).toEqual([task.id])
    const read = await client.getTask({ tenant: '', id: task.id })
    expect(read.status?.state).toBe(TaskState.TASK_STATE_WORKING)
    const cancelled = await client.cancelTask({ tenant: '', id: task.id, metadata: {} })
    expect(cancelled.status?.state).toBe(TaskState.TASK_STATE_CANCELED)
    expect(runtime.openRuns).toEqual([])
    const filter = { projectId, action: 'message.cancelled' } as const
    const { data } = await service.auditLog.list({ ...filter, limit: 9 })
    expect(data).toMatchObject([
      { targetId: task.id, actor: { kind: 'key', id: expect.any(String) } },
    ])
  })

  it('waits longer than one call of the service', async () => {
    const { clientOf, clock, runtime, service } = await openScene()
    const client = await clientOf('slow', binding)
    const sent = client.sendMessage(asking('Hi'))
    await expect.poll(() => runtime.openRuns).toHaveLength(1)
    await clock.advance(service.policy.syncWaitMs + 1_000)
    runtime.answer(runtime.openRuns[0] ?? '', 'Answer')
    expect(textOf((await sent) as Task)).toBe('Answer')
  })

  it('gets a failed task with the reason', async () => {
    const { clientOf } = await openScene()
    const client = await clientOf('failing', binding)
    const task = (await client.sendMessage(asking('Hi'))) as Task
    expect(task.status).toMatchObject({
      state: TaskState.TASK_STATE_FAILED,
      message: { role: 2, parts: [{ content: { value: 'RUNTIME_ERROR: told to fail' } }] },
    })
  })

  it('cannot cancel or continue a final task', async () => {
    const { clientOf } = await openScene()
    const client = await clientOf('echo', binding)
    const { id, contextId } = (await client.sendMessage(asking('Hi'))) as Task
    await expect(client.cancelTask({ tenant: '', id, metadata: {} })).rejects.toMatchObject({
      reason: 'TASK_NOT_CANCELABLE',
    })
    await expect(client.sendMessage(asking('More', { taskId: id }))).rejects.toMatchObject({
      reason: 'UNSUPPORTED_OPERATION',
    })
    await expect(
      client.sendMessage(asking('More', { taskId: id, contextId: 'another' })),
    ).rejects.toThrow('message.contextId is not the context of message.taskId')
    const next = (await client.sendMessage(asking('More', { contextId }))) as Task
    expect([next.contextId, next.id === id]).toEqual([contextId, false])
  })

  it('cannot read tasks that do not exist, or of another agent', async () => {
    const { clientOf } = await openScene()
    const [echo, slow] = [await clientOf('echo', binding), await clientOf('slow', binding)]
    const { id } = (await echo.sendMessage(asking('Hi'))) as Task
    const notFound = { reason: 'TASK_NOT_FOUND' }
    await expect(slow.getTask({ tenant: '', id })).rejects.toMatchObject(notFound)
    await expect(echo.getTask({ tenant: '', id: 'nothing' })).rejects.toMatchObject(notFound)
    await expect(echo.sendMessage(asking('x', { taskId: 'nothing' }))).rejects.toMatchObject(
      notFound,
    )
  })

  it('lists tasks by pages, and filters them', async () => {
    const { clientOf } = await openScene()
    const client = await clientOf('echo', binding)
    const ids: string[] = []
    for (const text of ['one', 'two', 'three'])
      ids.push(idOf(await client.sendMessage(asking(text, { contextId: `c-${text}` }))))
    const first = await client.listTasks({ ...LIST_ALL, pageSize: 2 })
    expect(first.tasks.map(({ id }) => id)).toEqual([ids[2], ids[1]])
    expect(first.tasks[0]?.artifacts).toEqual([])
    expect([first.pageSize, first.totalSize]).toEqual([2, 3])
    const { nextPageToken: pageToken } = first
    const rest = await client.listTasks({
      ...LIST_ALL,
      pageSize: 2,
      pageToken,
      includeArtifacts: true,
    })
    expect(rest.tasks.map(textOf)).toEqual(['one'])
    expect([rest.nextPageToken, rest.totalSize]).toEqual(['', 3])
    const ofContext = await client.listTasks({ ...LIST_ALL, contextId: 'c-two' })
    expect(ofContext.tasks.map(({ id }) => id)).toEqual([ids[1]])
    const status = TaskState.TASK_STATE_WORKING
    expect((await client.listTasks({ ...LIST_ALL, status })).tasks).toEqual([])
    const later = { ...LIST_ALL, statusTimestampAfter: '2999-01-01T00:00:00Z' }
    expect((await client.listTasks(later)).tasks).toEqual([])
    await expect(client.listTasks({ ...LIST_ALL, pageSize: 101 })).rejects.toThrow('pageSize')
    await expect(client.listTasks({ ...LIST_ALL, pageToken: 'x' })).rejects.toThrow('pageToken')
  })

  it('is refused bytes and other outputs, and nothing is stored', async () => {
    const { clientOf, messagesOf } = await openScene()
    const client = await clientOf('echo', binding)
    const request = asking('Look at this')
    request.message?.parts.push(partOf({ $case: 'raw', value: Buffer.from('a file') }))
    await expect(client.sendMessage(request)).rejects.toMatchObject({
      reason: 'CONTENT_TYPE_NOT_SUPPORTED',
      message: expect.stringContaining('message.parts[1] is a file with bytes'),
    })
    const configuration = { acceptedOutputModes: ['image/png'] }
    await expect(client.sendMessage(asking('Hi', { configuration }))).rejects.toMatchObject({
      reason: 'CONTENT_TYPE_NOT_SUPPORTED',
    })
    expect(await messagesOf('echo')).toEqual([])
  })

  it('names the principal in the metadata', async () => {
    const { clientOf, messagesOf } = await openScene()
    const client = await clientOf('for-users', binding)
    await expect(client.sendMessage(asking('Hi'))).rejects.toThrow('metadata of the message')
    const executionPrincipal = { type: 'end_user', endUserId: 'u-1' }
    await client.sendMessage(asking('Hi', { metadata: { executionPrincipal } }))
    expect(await messagesOf('for-users')).toMatchObject([{ executionPrincipal }])
  })
})
