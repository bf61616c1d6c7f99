import { beforeEach, expect, it } from 'vitest'
import { aMessage, anAgent } from '../testing/index.js'
import { localSignal } from './local-signal.js'

const told = aMessage(anAgent())
let signal = localSignal()
const heard: string[] = []
const listen = (name: string) =>
  signal.listen(told.id, (message) => heard.push(`${name} ${message === told}`))

beforeEach(() => {
  signal = localSignal()
  heard.length = 0
})

function whoHears(): string[] {
  signal.notify(told)
  return heard.splice(0)
}

it('gives the message to all that listen to it, and to nobody else', () => {
  signal.listen('another message', () => heard.push('somebody else'))
  expect(whoHears()).toEqual([])
  listen('one')
  expect(whoHears()).toEqual(['one true'])
  listen('two')
  listen('three')
  expect(whoHears()).toEqual(['one true', 'two true', 'three true'])
})

it('leaves the others listening when one stops, however often that one does', () => {
  const [stopOne, stopTwo] = [listen('one'), listen('two')]
  stopOne()
  expect(whoHears()).toEqual(['two true'])
  stopTwo()
  expect(whoHears()).toEqual([])
  const stopThree = listen('three')
  stopOne()
  stopTwo()
  expect(whoHears()).toEqual(['three true'])
  stopThree()
  expect(whoHears()).toEqual([])
})

it('wakes all of them when each stops as it hears', () => {
  for (const name of ['one', 'two', 'three']) {
    const stop = signal.listen(told.id, () => {
      heard.push(name)
      stop()
    })
  }
  expect(whoHears()).toEqual(['one', 'two', 'three'])
  expect(whoHears()).toEqual([])
})
