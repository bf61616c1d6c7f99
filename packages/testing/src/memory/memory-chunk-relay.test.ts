import { describeChunkRelayContract } from '../contract/chunk-relay.js'
import { memoryChunkRelay } from './memory-chunk-relay.js'

describeChunkRelayContract('the relay within a process', async () => {
  const relay = memoryChunkRelay()
  return { from: relay, to: relay, close: async () => undefined }
})
