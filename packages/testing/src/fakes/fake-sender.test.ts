import { unwrapError } from '@org/agent-messaging-testing'
import { describe, expect, it } from 'vitest'
import { accepted, fakeSender, refused, unreachable } from './fake-sender.js'

const request = { url: 'https://receiver.example', headers: {}, body: '{}', deadlineMs: 15_000 }

describe('the fake sender', () => {
  it('records every request and answers 200', async () => {
    const sender = fakeSender()
    expect(await sender.send(request)).toEqual({
      kind: 'accepted',
      statusCode: 200,
      responseBody: '',
    })
    expect(sender.requests).toEqual([request])
  })

  it('answers as the script says, and then as before', async () => {
    const sender = fakeSender({ outcome: ({ url }) => accepted(url.length) })
    sender.script(refused(503, 1_000), unreachable('timeout'))
    const outcomes = [
      await sender.send(request),
      await sender.send(request),
      await sender.send(request),
    ]
    expect(outcomes).toEqual([
      refused(503, 1_000),
      unreachable('timeout'),
      accepted(request.url.length),
    ])
  })

  it('holds requests open until they are released', async () => {
    const sender = fakeSender()
    sender.hold()
    const sending = [sender.send(request), sender.send(request)]
    expect(sender.held).toBe(2)
    sender.release(refused())
    expect(await Promise.all(sending)).toEqual([refused(), refused()])
    expect(sender.held).toBe(0)
    expect(await sender.send(request)).toEqual(accepted())
  })

  it('accepts every URL that the test does not refuse', async () => {
    const sender = fakeSender()
    sender.refuse('http://10.0.0.1', 'the address is private')
    expect((await sender.vet('https://receiver.example')).ok).toBe(true)
    expect(unwrapError(await sender.vet('http://10.0.0.1'))).toBe('the address is private')
  })
})
