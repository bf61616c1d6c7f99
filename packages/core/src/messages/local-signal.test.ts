import { beforeEach, expect, it } from 'vitest'
import { aMessage, anAgent } from '@org/agent-messaging-testing'
import { localSignal } from './local-signal.js'

const message = aMessage(anAgent())
let signal = localSignal()
const heard: string[] = []
const listen = (name: string) =>
  signal.listen(message.id, (found) => heard.push(`${name} ${found === message}`))

beforeEach(() => {
  signal = localSignal()
  heard.length = 0
})

function notified(): string[] {
  signal.notify(message)
  return heard.splice(0)
}

it('gives the message to all of its listeners and to no others', () => {
  signal.listen('another message', () => heard.push('another listener'))
  expect(notified()).toEqual([])
  listen('one')
  expect(notified()).toEqual(['one true'])
  listen('two')
  listen('three')
  expect(notified()).toEqual(['one true', 'two true', 'three true'])
})

it('keeps the other listeners when one stops, even twice', () => {
  const stopOne = listen('one')
  const stopTwo = listen('two')
  stopOne()
  expect(notified()).toEqual(['two true'])
  stopTwo()
  expect(notified()).toEqual([])
  const stopThree = listen('three')
  stopOne()
  stopTwo()
  expect(notified()).toEqual(['three true'])
  stopThree()
  expect(notified()).toEqual([])
})

it('calls every listener when each stops in its call', () => {
  for (const name of ['one', 'two', 'three']) {
    const stop = signal.listen(message.id, () => {
      heard.push(name)
      stop()
    })
  }
  expect(notified()).toEqual(['one', 'two', 'three'])
  expect(notified()).toEqual([])
})
