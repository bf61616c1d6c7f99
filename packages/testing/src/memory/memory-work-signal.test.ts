import { describeWorkSignalContract } from '../contract/index.js'
import { memoryWorkSignal } from './memory-work-signal.js'

describeWorkSignalContract('the signal within a process', async () => {
  const signal = memoryWorkSignal()
  return { from: signal, to: signal, close: async () => undefined }
})
