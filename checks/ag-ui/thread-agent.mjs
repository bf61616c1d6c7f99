import { HttpAgent, runHttpRequest, transformHttpEventStream } from '@ag-ui/client'

/** Its `connectAgent()` gets the messages of the thread, then the rest of an open answer. */
export class ThreadAgent extends HttpAgent {
  connect(input) {
    const post = () => this.fetch(`${this.url}/connect`, this.requestInit(input))
    return transformHttpEventStream(runHttpRequest(post))
  }
}
