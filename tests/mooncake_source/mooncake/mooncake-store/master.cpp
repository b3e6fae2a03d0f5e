// SPDX-License-Identifier: Apache-2.0
// Answers what a check asks of a Mooncake master: the RPC ServiceReady, and over HTTP /health, /role and /metrics.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "transfer_engine.h"

static int listen_on(const std::string &address, int port) {
  int server = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(port);
  if (inet_pton(AF_INET, address.c_str(), &where.sin_addr) != 1) where.sin_addr.s_addr = INADDR_ANY;
  if (bind(server, reinterpret_cast<sockaddr *>(&where), sizeof where) != 0 || listen(server, 16) != 0) {
    perror("listen");
    exit(1);
  }
  return server;
}

static void serve_rpc(int client) {
  unsigned char request[20];
  while (recv(client, request, sizeof request, MSG_WAITALL) == sizeof request && request[0] == 0x15) {
    const unsigned char ready[4] = {0x56, 0xbb, 0x81, 0x7b};
    bool known = memcmp(request + 8, ready, 4) == 0;
    std::string text = known ? "2.0.0" : "the rpc function not registered";
    std::string body = known ? std::string(11, '\0') : "";
    body += static_cast<char>(text.size()) + text;
    unsigned char answer[16] = {0x15, 0, static_cast<unsigned char>(known ? 0 : 11), 0};
    memcpy(answer + 4, request + 4, 4);
    unsigned length = body.size();
    memcpy(answer + 8, &length, 4);
    std::string all(reinterpret_cast<char *>(answer), sizeof answer);
    all += body;
    if (send(client, all.data(), all.size(), MSG_NOSIGNAL) < 0) break;
  }
  close(client);
}

static void serve_http(int client) {
  char request[2048] = {};
  if (recv(client, request, sizeof request - 1, 0) > 0) {
    std::string path(request), status = "200 OK", body = "404 Not Found";
    path = path.substr(0, path.find(' ', 4)).substr(4);
    if (path == "/health") body = "@HEALTH@";
    else if (path == "/role") body = "leader";
    else if (path == "/metrics")
      body = "# TYPE master_total_capacity_bytes gauge\nmaster_total_capacity_bytes 0\n"
             "# TYPE master_allocated_bytes gauge\nmaster_allocated_bytes 0\n"
             "# TYPE master_key_count gauge\nmaster_key_count 0\n";
    else status = body;
    std::string head = "HTTP/1.1 " + status + "\r\nContent-Type: @TYPE@\r\nContent-Length: " + std::to_string(body.size()) +
                       "\r\nConnection: close\r\n\r\n";
    std::string all = head + body;
    if (send(client, all.data(), all.size(), MSG_NOSIGNAL) < 0) perror("send");
  }
  close(client);
}

static void accept_all(int server, void (*serve)(int)) {
  for (;;) {
    int client = accept(server, nullptr, nullptr);
    if (client >= 0) std::thread(serve, client).detach();
  }
}

int main(int count, char **words) {
  std::string address = "0.0.0.0";
  int rpc_port = 50051, metrics_port = 9003;
  for (int i = 1; i < count; i++) {
    std::string word = words[i];
    auto value = [&](const char *flag) {
      std::string begin = std::string(flag) + "=";
      return word.rfind(begin, 0) == 0 ? word.substr(begin.size()) : std::string();
    };
    if (word == "--version") {
      printf("mooncake_master @VERSION@\n");
      return 0;
    }
    if (!value("--rpc_port").empty()) rpc_port = atoi(value("--rpc_port").c_str());
    if (!value("--metrics_port").empty()) metrics_port = atoi(value("--metrics_port").c_str());
    if (!value("--rpc_address").empty()) address = value("--rpc_address");
  }
  if (transfer_engine_probe() != 0) return 1;
  int http = listen_on("0.0.0.0", metrics_port), rpc = listen_on(address, rpc_port);
  fprintf(stderr, "master with yalantinglibs %s listens\n", transfer_engine_yalantinglibs());
  std::thread(accept_all, http, serve_http).detach();
  accept_all(rpc, serve_rpc);
}
