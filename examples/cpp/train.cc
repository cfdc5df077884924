// Fits a network of one hidden layer to the sine, with stochastic gradient descent.
//
// usage: train RATE HIDDEN EPOCHS
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr int kPoints = 200;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

struct Network {
  std::vector<double> weights;  // Per hidden unit: of the input, its bias, of the output.
  double bias = 0;

  explicit Network(int hidden) : weights(static_cast<std::size_t>(hidden) * 3) {
    std::mt19937 numbers(1);
    std::normal_distribution<double> normal(0, 1);
    for (double& weight : weights) weight = normal(numbers);
  }

  double predict(double x) const {
    double y = bias;
    for (std::size_t i = 0; i < weights.size(); i += 3) {
      y += weights[i + 2] * std::tanh(weights[i] * x + weights[i + 1]);
    }
    return y;
  }

  void learn(double x, double target, double rate) {
    const double miss = predict(x) - target;
    for (std::size_t i = 0; i < weights.size(); i += 3) {
      const double out = std::tanh(weights[i] * x + weights[i + 1]);
      const double inner = miss * weights[i + 2] * (1 - out * out);
      weights[i + 2] -= rate * miss * out;
      weights[i] -= rate * inner * x;
      weights[i + 1] -= rate * inner;
    }
    bias -= rate * miss;
  }
};

double place(int point) { return 6.0 * point / kPoints - 3; }

double loss_of(const Network& network) {
  double sum = 0;
  for (int point = 0; point < kPoints; ++point) {
    sum += std::pow(network.predict(place(point)) - std::sin(place(point)), 2);
  }
  return sum / kPoints;
}

void save(const std::filesystem::path& path, const Network& network, int epoch) {
  const std::filesystem::path partial = path.string() + ".new";
  std::ofstream file(partial);
  file.precision(17);
  file << epoch << ' ' << network.bias;
  for (const double weight : network.weights) file << ' ' << weight;
  file.close();
  std::filesystem::rename(partial, path);
}

int load(const std::filesystem::path& path, Network& network) {
  std::ifstream file(path);
  int epoch = 0;
  file >> epoch >> network.bias;
  for (double& weight : network.weights) file >> weight;
  return file ? epoch : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const double rate = std::stod(argv[1]);
  const int epochs = std::stoi(argv[3]);
  Network network(std::stoi(argv[2]));
  const std::filesystem::path state = variable("RUNNEL_CHECKPOINT_DIR") + "/state.txt";
  const int first = variable("RUNNEL_RESUME_FROM").empty() ? 0 : load(state, network);
  std::ofstream metrics(variable("RUNNEL_METRICS_FILE"), std::ios::app);
  for (int epoch = first; epoch < epochs; ++epoch) {
    std::mt19937 numbers(static_cast<unsigned>(epoch));
    std::uniform_int_distribution<int> any(0, kPoints - 1);
    for (int step = 0; step < kPoints; ++step) {
      const double x = place(any(numbers));
      network.learn(x, std::sin(x), rate);
    }
    save(state, network, epoch + 1);
    metrics << "{\"step\": " << epoch + 1 << ", \"loss\": " << loss_of(network) << "}" << std::endl;
  }
  std::cout << "loss " << loss_of(network) << " after " << epochs << " epochs\n";
}
